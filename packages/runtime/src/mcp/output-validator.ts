import { boundedSchema } from "@convoke/protocol";
import type {
  JsonSchemaType,
  JsonSchemaValidator,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";

/** The model is told of a result that does not fit, but not of each of a million items. */
const MAX_PROBLEM = 1000;

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

function withShortProblem<T>(result: JsonSchemaValidatorResult<T>): JsonSchemaValidatorResult<T> {
  return result.valid
    ? result
    : { ...result, errorMessage: result.errorMessage.slice(0, MAX_PROBLEM) };
}
