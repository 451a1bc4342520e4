/** What is wrong with a value, and where in it. */
export interface Problem {
  /** Names of properties and places in lists, from the outside to the inside. */
  readonly path: readonly (string | number)[];
  /** What follows the name of the field: `must be a string`. */
  readonly text: string;
}

/** The first problem of a value. A value without one takes no memory. */
export type FindProblem = (value: unknown) => Problem | undefined;

/** A problem of the value itself. */
export function problemOf(text: string): Problem {
  return { path: [], text };
}

/** A problem of a property or an item, as its owner has it. */
export function problemAt(step: string | number, { path, text }: Problem): Problem {
  return { path: [step, ...path], text };
}
