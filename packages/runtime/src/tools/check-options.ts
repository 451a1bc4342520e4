import { didYouMean } from "@convoke/protocol/internal";

/** The names of the options of a definition, or of several in a union, so that the compiler finds a missing one. */
export type OptionNames<Definition> = Readonly<Record<KeyOf<Definition>, true>>;

type KeyOf<Definition> = Definition extends unknown ? keyof Definition : never;

/**
 * Throws a TypeError for an option that does not exist, with the nearest one that does: a mistyped
 * option would otherwise be ignored, and in JavaScript no compiler finds it.
 */
export function checkOptions(
  given: object,
  names: Readonly<Record<string, true>>,
  of: string,
): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    const known = Object.keys(names);
    const guess = didYouMean(name, known) || ` The options are ${known.toSorted().join(", ")}.`;
    throw new TypeError(`${of} has no option ${JSON.stringify(name)}.${guess}`);
  }
}
