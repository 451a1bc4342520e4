import { A2AError, boundedSchema } from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import { jsonSchemaCheck } from "../tools/tool-input.ts";
import type { CheckedInput } from "../tools/tool.ts";

/**
 * Checks values against a schema from an MCP server, leaving out what could block the process. A
 * pattern such as `^(a+)+$` could, and again after each restart, because the task is resumed. A
 * schema that cannot be used at all accepts everything, because the server checks its input itself.
 */
export function serverSchemaCheck(schema: JsonSchema): (input: unknown) => Promise<CheckedInput> {
  let check: ReturnType<typeof jsonSchemaCheck> | undefined;
  return async (input) => {
    try {
      check ??= jsonSchemaCheck(boundedSchema(schema, "schema") as JsonSchema);
      return await check(input);
    } catch {
      return { ok: true, input };
    }
  };
}

/** Maximum length of a schema problem in the log. */
const MAX_PROBLEM = 500;

/** Explains why a server's schema cannot be used, or returns `undefined` if it can. */
export function schemaProblem(schema: unknown, field: string): string | undefined {
  try {
    boundedSchema(schema, field);
    return undefined;
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    // The prefix is meant for callers. Names in a schema can have any length, so the text is cut.
    return error.message.replace("Invalid parameters: ", "").slice(0, MAX_PROBLEM);
  }
}
