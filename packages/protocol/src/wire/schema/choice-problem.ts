import { type FindProblem, problemOf } from "./problem.ts";

/** One of some values. */
export function enumProblem(choices: readonly unknown[]): FindProblem {
  const other = problemOf(`must be one of ${choices.join(", ")}`);
  return (value) => (choices.includes(value) ? undefined : other);
}

/** One value alone. */
export function constProblem(only: unknown): FindProblem {
  const other = problemOf(`must be ${JSON.stringify(only)}`);
  return (value) => (value === only ? undefined : other);
}
