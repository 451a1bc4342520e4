import type { JsonSchema } from "../model/model.ts";
import type { CheckedInput } from "./tool.ts";
import type { Compile } from "typebox/schema";

/** The arguments of a tool: their schema for the model, and how they are checked. */
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

/**
 * What schema libraries agree on (standardschema.dev): zod 4, valibot, arktype
 * and others carry it, so that we need none of them.
 */
interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Newer libraries also say themselves how their schema reads as JSON Schema. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => JsonSchema;
    };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a tool gets whose input is the schema. */
export type OutputOf<Schema> =
  Schema extends StandardSchema<infer Output> ? Output : Readonly<Record<string, unknown>>;

function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard?.validate === "function";
}

/**
 * The JSON Schema of a Standard Schema, by the library's own conversion;
 * nothing when the library has none. What it cannot convert, it throws about.
 */
function jsonSchemaOf(schema: StandardSchema): JsonSchema | undefined {
  const { jsonSchema } = schema["~standard"];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
  const own = schema as { readonly toJsonSchema?: unknown; readonly toJSONSchema?: unknown };
  // Earlier zod 4, and arktype.
  if (typeof own.toJSONSchema === "function") {
    return (own.toJSONSchema as (options: object) => JsonSchema)({ io: "input" });
  }
  if (typeof own.toJsonSchema === "function") return (own.toJsonSchema as () => JsonSchema)();
  return undefined;
}

/** `path.to[0].field: what is wrong`, so that a model can mend it. */
function problemText({ message, path = [] }: StandardIssue): string {
  let place = "";
  for (const step of path) {
    const key = typeof step === "object" ? step.key : step;
    if (typeof key === "number") place += `[${key}]`;
    else place += place === "" ? String(key) : `.${String(key)}`;
  }
  return place === "" ? message : `${place}: ${message}`;
}

/** The largest number of problems in one error for the model. */
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
    return { ok: false, problems: problems.slice(0, MAX_PROBLEMS).map(schemaProblemText) };
  };
}

interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

function schemaProblemText({ keyword, instancePath, params, message }: SchemaProblem): string {
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
