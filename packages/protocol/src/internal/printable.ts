/** Control characters except tab and line feed: with ESC, a remote agent could control the terminal. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;

/** Removes control characters from remote text before it is displayed. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, "");
}

/** The same on one line of at most `longest` characters. */
export function oneLine(text: string, longest = 200): string {
  const line = printable(text.replaceAll(/\s+/g, " ")).trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}
