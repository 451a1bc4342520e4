/** The longest output of a file tool, in characters: below the default limit of an agent. */
export const MAX_OUTPUT = 50_000;

/** The longest line that is shown in full, in characters. */
const MAX_LINE = 2000;

/** As many whole lines as fit, and how many they are; at least one. */
export function clipped(lines: readonly string[]): {
  readonly text: string;
  readonly count: number;
} {
  let length = 0;
  const end = lines.findIndex((line) => (length += line.length + 1) > MAX_OUTPUT);
  const kept = end === -1 ? lines : lines.slice(0, Math.max(1, end));
  return { text: kept.join("\n"), count: kept.length };
}

/** A line with its number, as the tools show it. */
export function numbered(number: number, line: string, separator = "\t"): string {
  return `${number}${separator}${shortLine(line)}`;
}

function shortLine(line: string): string {
  if (line.length <= MAX_LINE) return line;
  return `${line.slice(0, MAX_LINE)}… [${line.length - MAX_LINE} more characters]`;
}
