/**
 * Lines that begin alike are stored by what differs. The chunks of an answer
 * share most of their text (ids, names), so a stream takes a third of the space
 * on its way to the writer and on disk.
 *
 * A line is either whole, and then begins with `{` as all JSON objects do, or
 * `<n>⇥<rest>`: the first n characters of the last whole line, and the rest.
 */

/** A shorter common beginning is not worth its mark. */
const LEAST = 32;

/** Joins JSON lines into one text. */
export function packLines(lines: readonly string[]): string {
  let packed = "";
  for (let place = 0; place < lines.length;) {
    const whole = lines[place]!;
    packed += place === 0 ? whole : `\n${whole}`;
    place += 1;
    const prefix = commonBeginning(whole, lines[place] ?? "");
    if (prefix === "") continue;
    const first = place;
    while (place < lines.length && lines[place]!.startsWith(prefix)) place += 1;
    packed += followers(lines.slice(first, place), prefix.length);
  }
  return packed;
}

/** Lines that share their beginning share its mark too, so it is the separator of their rests. */
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

function commonBeginning(a: string, b: string): string {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  // Half a character cannot be stored.
  if (isHighSurrogate(a.charCodeAt(length - 1))) length -= 1;
  return length < LEAST ? "" : a.slice(0, length);
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
