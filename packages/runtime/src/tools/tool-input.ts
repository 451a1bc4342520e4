import type { JsonSchema } from "../model/model.ts";
import type { CheckedInput } from "./tool.ts";
import type { Compile } from "typebox/schema";

/** The arguments of a tool: their schema for the model, and the function that checks them. */
export interface ToolInput {
  readonly schema: JsonSchema;
  readonly check: (input: unknown) => Promise<CheckedInput>;
}

/** Any Standard Schema, or a plain JSON Schema. */
export type InputSchema = StandardSchema | JsonSchema;

/** A tool without `inputSchema` takes no arguments. */
const NO_ARGUMENTS: JsonSchema = { type: "object", properties: {} };

export function toolInput(
  toolName: string,
  input: InputSchema = NO_ARGUMENTS,
  given?: JsonSchema,
): ToolInput {
  const place = {
    what: `the inputSchema of tool "${toolName}"`,
    remedy: "give one for the model as inputJsonSchema",
  };
  return checkedSchema(place, input, given);
}

/** The output of an agent: its schema for the model, and the function that checks an answer. */
export function agentOutput(output: InputSchema): ToolInput {
  return checkedSchema({ what: "output", remedy: "give a JSON Schema as output" }, output);
}

interface SchemaPlace {
  /** What the schema describes, for errors. */
  readonly what: string;
  /** What to do if a schema library has no JSON Schema for it. */
  readonly remedy: string;
}

function checkedSchema(place: SchemaPlace, input: InputSchema, given?: JsonSchema): ToolInput {
  if (isStandardSchema(input)) {
    return {
      schema: objectSchema(place, given ?? converted(place, input)),
      check: (value) => checkByStandard(input, value),
    };
  }
  const schema = objectSchema(place, input);
  return { schema, check: jsonSchemaCheck(schema) };
}

function converted({ what, remedy }: SchemaPlace, schema: StandardSchema): JsonSchema {
  let own: JsonSchema | undefined;
  try {
    own = jsonSchemaOf(schema);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`${what} has no JSON Schema (${why}); ${remedy}`, { cause });
  }
  if (own !== undefined) return own;
  const { vendor } = schema["~standard"];
  throw new TypeError(`${vendor} does not say how ${what} reads as JSON Schema; ${remedy}`);
}

/**
 * Models pass arguments by name, so a schema that does not describe an object is an authoring
 * error.
 */
function objectSchema({ what }: SchemaPlace, schema: JsonSchema): JsonSchema {
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  if (!isObject || (schema["type"] ?? "object") !== "object") {
    throw new TypeError(
      `${what} must be a schema of an object, such as { type: "object", properties: {…} }`,
    );
  }
  // Providers require `type` and do not use `$schema`.
  const { $schema: _, ...rest } = schema;
  return { type: "object", ...rest };
}

async function checkByStandard(schema: StandardSchema, value: unknown): Promise<CheckedInput> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { ok: true, input: result.value };
  return { ok: false, problems: result.issues.map(problemText) };
}

/**
 * The interface shared by schema libraries (standardschema.dev). zod 4, valibot, arktype and others
 * implement it, so none of them is a dependency.
 */
interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Newer libraries also provide their own conversion to JSON Schema. */
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

/** What a question with a schema asks for. */
export interface AnswerSchema {
  /** For programs; absent if the schema library cannot convert to JSON Schema. */
  readonly json: JsonSchema | undefined;
  readonly check: (value: unknown) => Promise<CheckedInput>;
}

export function answerSchema(schema: InputSchema): AnswerSchema {
  if (!isStandardSchema(schema)) {
    return { json: asStored(schema), check: jsonSchemaCheck(schema, "value") };
  }
  let json: JsonSchema | undefined;
  try {
    const own = jsonSchemaOf(schema);
    json = own && asStored(own);
  } catch {
    // The library checks the answer anyway; only programs that answer cannot know its form.
  }
  return { json, check: (value) => checkByStandard(schema, value) };
}

/** The schema as the log stores it, so that it can be compared with a stored one. */
function asStored(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonSchema;
}

/** The type of an answer that fits a schema. */
export type AnswerOf<Schema> = Schema extends StandardSchema<infer Output> ? Output : unknown;

/** The type that `run` receives for an input schema. */
export type OutputOf<Schema> =
  Schema extends StandardSchema<infer Output> ? Output : Readonly<Record<string, unknown>>;

function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard?.validate === "function";
}

/**
 * Converts a Standard Schema to JSON Schema with the library's own conversion, or returns undefined
 * if it has none. The library throws if a schema cannot be converted.
 */
function jsonSchemaOf(schema: StandardSchema): JsonSchema | undefined {
  const { jsonSchema } = schema["~standard"];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
  const own = schema as { readonly toJsonSchema?: unknown; readonly toJSONSchema?: unknown };
  // Earlier versions of zod 4, and arktype.
  if (typeof own.toJSONSchema === "function") {
    return (own.toJSONSchema as (options: object) => JsonSchema)({ io: "input" });
  }
  if (typeof own.toJsonSchema === "function") return (own.toJsonSchema as () => JsonSchema)();
  return undefined;
}

/** Formats a problem as `path.to[0].field: what is wrong`, so that a model can fix it. */
function problemText({ message, path = [] }: StandardIssue): string {
  let place = "";
  for (const step of path) {
    const key = typeof step === "object" ? step.key : step;
    if (typeof key === "number") place += `[${key}]`;
    else place += place === "" ? String(key) : `.${String(key)}`;
  }
  return place === "" ? message : `${place}: ${message}`;
}

/** Maximum number of problems in one error for the model. */
const MAX_PROBLEMS = 5;

let compile: typeof Compile | undefined;

/** Loads the validator of JSON Schemas: on first use, because many processes never need it. */
export async function loadValidator(): Promise<void> {
  compile ??= (await import("typebox/schema")).Compile;
}

/**
 * What is wrong with a value according to a JSON Schema. Reports nothing before `loadValidator`.
 *
 * @param root the name of the value itself
 */
export function jsonSchemaProblems(
  schema: JsonSchema,
  value: unknown,
  root: string,
): readonly string[] {
  return compile === undefined ? [] : problemsBy(compile(schema), value, root);
}

/** Creates a check against a JSON Schema, which is compiled on first use. */
export function jsonSchemaCheck(
  schema: JsonSchema,
  root = "arguments",
): (input: unknown) => Promise<CheckedInput> {
  let validator: Validator | undefined;
  return async (input) => {
    await loadValidator();
    validator ??= compile!(schema);
    const problems = problemsBy(validator, input, root);
    return problems.length === 0 ? { ok: true, input } : { ok: false, problems };
  };
}

type Validator = ReturnType<typeof Compile>;

function problemsBy(validator: Validator, value: unknown, root: string): readonly string[] {
  if (validator.Check(value)) return [];
  const [, problems] = validator.Errors(value);
  return problems.slice(0, MAX_PROBLEMS).map((problem) => schemaProblemText(problem, root));
}

interface SchemaProblem {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

function schemaProblemText(
  { keyword, instancePath, params, message }: SchemaProblem,
  root: string,
): string {
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
  return `${place === "" ? root : place}: ${problem}`;
}
