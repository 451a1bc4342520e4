import { oneLine } from "@convoke/protocol/internal";

/** As much of a body as a person wants to read. */
const LONGEST = 600;

/** Text from the other side on one line, cut. */
export function readable(text: string): string {
  return oneLine(text, LONGEST);
}

/** Headers that a probe plays with. Credentials are none of them, and never shown. */
const SHOWN = ["a2a-version", "a2a-extensions", "x-a2a-extensions", "if-none-match"];

/** A request on one line: what is asked, the headers that matter, and the body. */
export function readableRequest(
  line: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): string {
  const shown = Object.entries(headers)
    .filter(([name]) => SHOWN.includes(name))
    .map(([name, value]) => `${name}: ${value}`);
  const told = shown.length === 0 ? "" : ` (${shown.join(", ")})`;
  return readable(`${line}${told} ${body}`);
}
