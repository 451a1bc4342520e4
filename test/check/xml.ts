/** An XML element. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** Parses XML as strictly as a report needs: everything closed, quoted, escaped and allowed. */
export function readXml(text: string): XmlElement {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/.test(text)) {
    throw new Error("There is a character that XML cannot have");
  }
  let rest = text.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\s*/, "");
  const element = read();
  if (rest.trim() !== "") throw new Error(`Something is left: ${rest.slice(0, 40)}`);
  return element;

  function take(pattern: RegExp, what: string): readonly string[] {
    const found = pattern.exec(rest);
    if (found?.index !== 0) throw new Error(`There is no ${what}: ${rest.slice(0, 40)}`);
    rest = rest.slice(found[0].length);
    return found;
  }

  function read(): XmlElement {
    const [, name = ""] = take(/^<([a-z-]+)/, "element");
    const attributes: Record<string, string> = {};
    while (/^\s+[a-z]/.test(rest)) {
      const [, key = "", value = ""] = take(/^\s+([a-z]+)="([^"<]*)"/, "attribute");
      if (Object.hasOwn(attributes, key)) throw new Error(`${key} is there twice`);
      attributes[key] = unescaped(value);
    }
    const [end] = take(/^\s*\/?>/, "end of a tag");
    const children: XmlElement[] = [];
    let inner = "";
    if (end?.endsWith("/>") === true) return { name, attributes, children, text: inner };
    while (!rest.startsWith("</")) {
      if (rest.startsWith("<")) children.push(read());
      else inner += unescaped(take(/^[^<]+/, "text")[0] ?? "");
    }
    take(new RegExp(`^</${name}>`), `end of ${name}`);
    return { name, attributes, children, text: inner };
  }
}

function unescaped(text: string): string {
  return text.replaceAll(/&([^;]*);?/g, (_, entity: string) => {
    const code = /^#(\d+)$/.exec(entity)?.[1];
    const character = code === undefined ? ENTITIES[entity] : String.fromCodePoint(Number(code));
    if (character === undefined) throw new Error(`&${entity}; is no entity`);
    return character;
  });
}
