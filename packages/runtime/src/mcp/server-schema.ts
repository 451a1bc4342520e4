import { A2AError, boundedSchema } from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import { jsonSchemaCheck } from "../tools/tool-input.ts";
import type { CheckedInput } from "../tools/tool.ts";
import type {
  JsonSchemaType,
  JsonSchemaValidator,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";

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

/** How much of a problem the log shows. */
const MAX_PROBLEM = 500;

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

/**
 * Checks the structured results of tools by the bounded part of their output schemas. The MCP
 * client asks for the validators of all tools at the first call of any, so each is compiled only
 * when its tool has a result.
 */
export class OutputValidator implements jsonSchemaValidator {
  readonly #ajv = new AjvJsonSchemaValidator();

  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    let validate: JsonSchemaValidator<T> | undefined;
    return (input) => {
      validate ??= this.#compile<T>(schema);
      return withShortProblem(validate(input));
    };
  }

  #compile<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    try {
      const bounded = boundedSchema(schema, "outputSchema") as JsonSchemaType;
      return this.#ajv.getValidator<T>(bounded);
    } catch {
      // The log says so since the tools were listed; a result is not lost for a bad schema.
      return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
    }
  }
}

/** The model learns that a result does not match, but not about each of a million items. */
const MAX_OUTPUT_PROBLEM = 1000;

function withShortProblem<T>(result: JsonSchemaValidatorResult<T>): JsonSchemaValidatorResult<T> {
  return result.valid
    ? result
    : { ...result, errorMessage: result.errorMessage.slice(0, MAX_OUTPUT_PROBLEM) };
}
