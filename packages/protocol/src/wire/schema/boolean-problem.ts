import { type Problem, problemOf } from "./problem.ts";

const NO_BOOLEAN = problemOf("must be a boolean");

export function booleanProblem(value: unknown): Problem | undefined {
  return typeof value === "boolean" ? undefined : NO_BOOLEAN;
}
