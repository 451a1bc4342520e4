import { type FindProblem, problemOf } from "./problem.ts";
import type { TextSchema } from "./schema.ts";

const NO_TEXT = problemOf("must be a string");

export function textProblem(schema: TextSchema): FindProblem {
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const tooShort = problemOf(
    minLength === 1 ? "must not be empty" : `must not have fewer than ${minLength} characters`,
  );
  const tooLong = problemOf(`must not have more than ${maxLength} characters`);
  const unlike = problemOf(`must match pattern "${pattern}"`);
  const expression = pattern === undefined ? undefined : new RegExp(pattern, "u");
  return (value) => {
    if (typeof value !== "string") return NO_TEXT;
    if (!isAtLeast(value, minLength)) return tooShort;
    if (!isAtMost(value, maxLength)) return tooLong;
    return expression === undefined || expression.test(value) ? undefined : unlike;
  };
}

// A text has at most as many code points as units, and at least half as many: mostly its length
// alone decides, however long it is.

function isAtLeast(text: string, count: number): boolean {
  return text.length >= 2 * count || (text.length >= count && codePoints(text) >= count);
}

function isAtMost(text: string, count: number): boolean {
  return text.length <= count || (text.length <= 2 * count && codePoints(text) <= count);
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
