import type { CommandContext } from "./command.ts";
import { printable } from "@convoke/protocol/internal";

/** Options to repeat, so that the agent is called in the same way. */
const REPEATED = ["binding", "a2a-version", "trust-key", "basic"] as const;

const REPEATED_LISTS = ["extension", "allow"] as const;

/** Options whose values may be secret; the suggested command shows `…` instead. */
const SECRET = ["token", "api-key"] as const;

/**
 * A complete command line that the user can copy, for the same agent with the same connection
 * options. Ids that come from the agent are quoted, so that pasting the line is safe.
 */
export function commandLine(
  { io, positionals, text, texts, flag }: CommandContext,
  command: string,
  args: readonly string[],
): string {
  const repeated = REPEATED.flatMap((option) => {
    const value = text(option);
    return value === undefined ? [] : [`--${option}`, value];
  });
  const words = [
    ...command.split(" "),
    ...positionals.slice(0, 1),
    ...repeated,
    ...REPEATED_LISTS.flatMap((option) => texts(option).flatMap((value) => [`--${option}`, value])),
    ...(flag("require-signature") ? ["--require-signature"] : []),
    ...args,
  ];
  const secrets = SECRET.filter((option) => text(option) !== undefined).map(
    (name) => `--${name} …`,
  );
  const headers = texts("header").map(() => "--header …");
  return [io.started.program, ...words.map(quoted), ...secrets, ...headers].join(" ");
}

/** A word that a person can paste into a shell, whatever is in it. */
export function quoted(word: string): string {
  const clean = printable(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", String.raw`'\''`)}'`;
}

/** The most similar name, or `undefined` if none is similar enough. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(typed, name) }))
    .toSorted((left, right) => left.distance - right.distance);
  const [best] = ranked;
  if (best === undefined) return undefined;
  // Accept two typos in a long word and one in a short one.
  return best.distance <= (best.name.length > 4 ? 2 : 1) ? best.name : undefined;
}

/** " Did you mean x?", or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const name = nearest(typed, names);
  return name === undefined ? "" : ` Did you mean ${name}?`;
}

/** The number of insertions, deletions, changes and swaps of neighbours (Damerau-Levenshtein). */
function distanceOf(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      let cost = Math.min(
        (current[column - 1] ?? 0) + 1,
        (last[column] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (row > 1 && column > 1 && swapped)
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return last[right.length] ?? 0;
}
