import { isBinary } from "../workspace/text-file.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";

/** What to search for in each line. */
export interface LineQuery {
  /** A JavaScript regular expression, or a text if `isLiteral`. */
  readonly pattern: string;
  readonly isLiteral: boolean;
  readonly ignoreCase: boolean;
  /** The number of lines to show before and after each match. */
  readonly context: number;
}

/** A line of a file that matches, or is near one that does. */
export interface FoundLine {
  readonly number: number;
  readonly text: string;
  readonly isMatch: boolean;
}

/** The lines of one file. */
export interface FileMatches {
  readonly path: string;
  readonly lines: readonly FoundLine[];
}

/** The longest part of a line that is kept, in characters. */
const MAX_LINE = 500;

/**
 * Creates a search for one query. It takes the bytes of a file, and returns the lines that match, at
 * most `limit` of them, with their context. Binary files have no lines.
 */
export function lineSearch(query: LineQuery): (bytes: Buffer, limit: number) => FoundLine[] {
  const line = lineExpression(query);
  const whole = wholeExpression(query, line);
  return (bytes, limit) => {
    if (isBinary(bytes)) return [];
    const text = bytes.toString();
    if (whole !== undefined && !whole.test(text)) return [];
    const lines = text.split(/\r?\n/);
    // What follows the last line ending is not a line, unless there is something.
    if (lines.at(-1) === "") lines.pop();
    const matches: number[] = [];
    for (let index = 0; index < lines.length && matches.length < limit; index++) {
      if (line.test(lines[index]!)) matches.push(index);
    }
    return withContext(lines, matches, query.context);
  };
}

/** The expression for one line. It throws an error for the model if the pattern is invalid. */
export function lineExpression({ pattern, isLiteral, ignoreCase }: LineQuery): RegExp {
  const source = isLiteral ? escapeExpression(pattern) : pattern;
  const flags = ignoreCase ? "i" : "";
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // Without `u` more escapes are allowed, such as `\-`.
  }
  try {
    return new RegExp(source, flags);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new WorkspaceError(`The pattern is not a valid regular expression. ${why}`);
  }
}

/**
 * An expression for the whole text, to reject most files at once: whatever matches in a line matches
 * there in the text. That does not hold for look-around, which could see the next line.
 */
function wholeExpression({ pattern, isLiteral }: LineQuery, line: RegExp): RegExp | undefined {
  if (!isLiteral && /\(\?(?:=|!|<=|<!)/.test(pattern)) return undefined;
  return new RegExp(line.source, `${line.flags}m`);
}

function escapeExpression(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

function withContext(
  lines: readonly string[],
  matches: readonly number[],
  context: number,
): FoundLine[] {
  const found = new Map<number, FoundLine>();
  const matching = new Set(matches);
  for (const match of matches) {
    const last = Math.min(lines.length - 1, match + context);
    for (let index = Math.max(0, match - context); index <= last; index++) {
      const text = lines[index]!.slice(0, MAX_LINE);
      found.set(index, { number: index + 1, text, isMatch: matching.has(index) });
    }
  }
  return [...found.values()].toSorted((a, b) => a.number - b.number);
}
