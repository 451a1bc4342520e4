import type { CommandContext } from "./command.ts";
import { printable } from "@convoke/protocol/internal";

/** What is repeated, so that the agent is spoken to in the same way. */
const REPEATED = ["binding", "a2a-version", "trust-key", "basic"] as const;

/** What is not repeated on the screen, because it is or may be a secret. */
const SECRET = ["token", "api-key"] as const;

/**
 * A whole command line that a person can copy to go on: the same agent, spoken
 * to in the same way. What an agent names is quoted, so that pasting it is safe.
 */
export function commandLine(
  { positionals, text, texts, flag }: CommandContext,
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
    ...(flag("require-signature") ? ["--require-signature"] : []),
    ...args,
  ];
  const secrets = SECRET.filter((option) => text(option) !== undefined).map(
    (name) => `--${name} …`,
  );
  const headers = texts("header").map(() => "--header …");
  return ["convoke", ...words.map(quoted), ...secrets, ...headers].join(" ");
}

/** A word that a person can paste into a shell, whatever is in it. */
export function quoted(word: string): string {
  const clean = printable(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", String.raw`'\''`)}'`;
}

/** The name that was probably meant, or `undefined` when none is near. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(typed, name) }))
    .toSorted((left, right) => left.distance - right.distance);
  const [best] = ranked;
  if (best === undefined) return undefined;
  // Two slips in a long word, one in a short one; more would be a guess.
  return best.distance <= (best.name.length > 4 ? 2 : 1) ? best.name : undefined;
}

/** " Did you mean x?", or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const name = nearest(typed, names);
  return name === undefined ? "" : ` Did you mean ${name}?`;
}

/** How many letters must be added, left out, changed, or swapped with the next one. */
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
