import type { JsonSchema } from "../model/model.ts";
import { jsonSchemaCheck } from "./json-schema-check.ts";
import {
  type StandardSchema,
  isStandardSchema,
  jsonSchemaOf,
  problemText,
} from "./standard-schema.ts";
import type { CheckedInput } from "./tool.ts";

/** The arguments of a tool: how the model is told of them, and how they are checked. */
export interface ToolInput {
  readonly schema: JsonSchema;
  readonly check: (input: unknown) => Promise<CheckedInput>;
}

/** Any Standard Schema, or JSON Schema as it is. */
export type InputSchema = StandardSchema | JsonSchema;

/** A tool without `input` takes no arguments. */
const NO_ARGUMENTS: JsonSchema = { type: "object", properties: {} };

export function toolInput(
  toolName: string,
  input: InputSchema = NO_ARGUMENTS,
  given?: JsonSchema,
): ToolInput {
  if (isStandardSchema(input)) {
    return {
      schema: objectSchema(toolName, given ?? converted(toolName, input)),
      check: (value) => checkByStandard(input, value),
    };
  }
  const schema = objectSchema(toolName, input);
  return { schema, check: jsonSchemaCheck(schema) };
}

function converted(toolName: string, schema: StandardSchema): JsonSchema {
  let own: JsonSchema | undefined;
  try {
    own = jsonSchemaOf(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(
      `the input of tool "${toolName}" has no JSON Schema (${why}); ` +
        "give one for the model as inputJsonSchema",
      { cause },
    );
  }
  if (own !== undefined) return own;
  const { vendor } = schema["~standard"];
  throw new TypeError(
    `${vendor} does not say how the input of tool "${toolName}" reads as JSON Schema; ` +
      "give it for the model as inputJsonSchema",
  );
}

/** Models give arguments by name, so a schema of anything but an object is a mistake of the author. */
function objectSchema(toolName: string, schema: JsonSchema): JsonSchema {
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  if (!isObject || (schema["type"] ?? "object") !== "object") {
    throw new TypeError(
      `the input of tool "${toolName}" must be a schema of an object, such as ` +
        '{ type: "object", properties: {…} }',
    );
  }
  // Providers want the type said, and have no use for the dialect.
  const { $schema: _, ...rest } = schema;
  return { type: "object", ...rest };
}

async function checkByStandard(schema: StandardSchema, value: unknown): Promise<CheckedInput> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { ok: true, input: result.value };
  return { ok: false, problems: result.issues.map(problemText) };
}
