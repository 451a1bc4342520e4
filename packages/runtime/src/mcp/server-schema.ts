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

/**
 * Checks the structured results of tools against the safe part of their output schemas. The MCP
 * client requests the validators of all tools at the first call of any tool, so each one is
 * compiled only when its tool returns a result.
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
      // The problem was logged when the tools were listed. A bad schema must not discard the
      // result.
      return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
    }
  }
}

/**
 * Limits the text for the model, because a result may have a problem in each of a million items.
 */
const MAX_OUTPUT_PROBLEM = 1000;

function withShortProblem<T>(result: JsonSchemaValidatorResult<T>): JsonSchemaValidatorResult<T> {
  return result.valid
    ? result
    : { ...result, errorMessage: result.errorMessage.slice(0, MAX_OUTPUT_PROBLEM) };
}
