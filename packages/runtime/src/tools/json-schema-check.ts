import type { Compile } from "typebox/schema";
import type { JsonSchema } from "../model/model.ts";
import type { CheckedInput } from "./tool.ts";

/** How many problems a model is told at once. */
const MAX_PROBLEMS = 5;

/**
 * Checks arguments by a JSON Schema. The checker is loaded and compiles on first use: many tools
 * are never called, and many processes never call one.
 */
export function jsonSchemaCheck(schema: JsonSchema): (input: unknown) => Promise<CheckedInput> {
  let validator: ReturnType<typeof Compile> | undefined;
  return async (input) => {
    validator ??= (await import("typebox/schema")).Compile(schema);
    if (validator.Check(input)) return { ok: true, input };
    const [, problems] = validator.Errors(input);
    return { ok: false, problems: problems.slice(0, MAX_PROBLEMS).map(problemText) };
  };
}

interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

function problemText({ keyword, instancePath, params, message }: SchemaProblem): string {
  const place = instancePath.split("/").slice(1).join(".");
  const facts = params as Readonly<Record<string, unknown>>;
  if (keyword === "required") {
    const names = (facts["requiredProperties"] as readonly string[]).map((name) =>
      place === "" ? name : `${place}.${name}`,
    );
    return `${names.join(", ")}: is required`;
  }
  const allowed = facts["allowedValues"] as readonly unknown[] | undefined;
  const problem = allowed === undefined ? message : `must be one of ${allowed.join(", ")}`;
  return `${place === "" ? "arguments" : place}: ${problem}`;
}
