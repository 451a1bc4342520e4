/** Control characters except tab and line feed: ESC would let a remote agent steer the terminal. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;

/** Remote text that a person will see. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, "");
}

/** The same on one line, and not longer than `longest` characters. */
export function oneLine(text: string, longest = 200): string {
  const line = printable(text.replaceAll(/\s+/g, " ")).trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}
