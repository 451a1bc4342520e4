import { invalidParams } from "../errors.ts";
import { compileSchema } from "./schema/compile-schema.ts";
import type { Schema } from "./schema/schema.ts";

/** Accepts a value of the shape, or throws an error that names the field and what it must be. */
export type Check = (value: unknown, field: string) => void;

/** The check of a schema of ours. A mistake in the schema is thrown here, when the module loads. */
export function checkOf(schema: Schema): Check {
  const findProblem = compileSchema(schema);
  return (value, field) => {
    const problem = findProblem(value);
    if (problem !== undefined) throw invalidParams(fieldAt(field, problem.path), problem.text);
  };
}

/** `message`, `parts`, 0 below `params` reads `message.parts[0]`. */
function fieldAt(root: string, path: readonly (string | number)[]): string {
  let name = root;
  for (const step of path) {
    name = typeof step === "number" ? `${name}[${step}]` : fieldIn(name, step);
  }
  return name === "" ? "params" : name;
}

/** The name of a field inside another. `params` is where a caller's own fields begin, so it is not named. */
export function fieldIn(path: string, step: string): string {
  return path === "" || path === "params" ? step : `${path}.${step}`;
}
