import { A2AError, boundedSchema } from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import { jsonSchemaCheck } from "../tools/json-schema-check.ts";
import type { CheckedInput } from "../tools/tool.ts";

/** How much of a problem the log shows. */
const MAX_PROBLEM = 500;

/**
 * Checks values by a schema that an MCP server wrote, as far as that cannot block the process: one
 * pattern such as `^(a+)+$` could, and again after each restart, because the task is resumed. A
 * schema that cannot be used at all refuses nothing: the server checks what it is given by itself.
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

/** Why nothing can be checked by a schema of a server, or `undefined` if it can be used. */
export function schemaProblem(schema: unknown, field: string): string | undefined {
  try {
    boundedSchema(schema, field);
    return undefined;
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    // The prefix is for callers; and names in a schema may be of any length.
    return error.message.replace("Invalid parameters: ", "").slice(0, MAX_PROBLEM);
  }
}
