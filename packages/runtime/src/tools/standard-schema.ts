import type { JsonSchema } from "../model/model.ts";

/**
 * What schema libraries agree on (standardschema.dev): zod 4, valibot, arktype
 * and others carry it, so that we need none of them.
 */
export interface StandardSchema<Output = unknown> {
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

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard?.validate === "function";
}

/**
 * The JSON Schema of a Standard Schema, by the library's own conversion;
 * nothing when the library has none. What it cannot convert, it throws about.
 */
export function jsonSchemaOf(schema: StandardSchema): JsonSchema | undefined {
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
export function problemText({ message, path = [] }: StandardIssue): string {
  let place = "";
  for (const step of path) {
    const key = typeof step === "object" ? step.key : step;
    if (typeof key === "number") place += `[${key}]`;
    else place += place === "" ? String(key) : `.${String(key)}`;
  }
  return place === "" ? message : `${place}: ${message}`;
}
