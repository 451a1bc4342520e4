import { type FindProblem, problemOf } from "./problem.ts";
import type { NumberSchema } from "./schema.ts";

const NO_INTEGER = problemOf("must be an integer");
const NO_NUMBER = problemOf("must be a number");

/** What is infinite or NaN is no number: JSON has neither. */
export function numberProblem(schema: NumberSchema): FindProblem {
  const { type, minimum = -Infinity, maximum = Infinity } = schema;
  const isInteger = type === "integer";
  const tooSmall = problemOf(`must be >= ${minimum}`);
  const tooLarge = problemOf(`must be <= ${maximum}`);
  return (value) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      return isInteger ? NO_INTEGER : NO_NUMBER;
    }
    if (isInteger && !Number.isInteger(value)) return NO_INTEGER;
    if (value < minimum) return tooSmall;
    return value > maximum ? tooLarge : undefined;
  };
}
