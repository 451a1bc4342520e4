import { isObject } from "../internal/json.ts";
import { invalidParams } from "../model/errors.ts";
import type { Metadata } from "../model/part.ts";

/**
 * The part of an untrusted JSON Schema that is safe to validate with. It drops patterns, which may
 * backtrack, and references, which may be circular. Validation with the rest takes time proportional
 * to the schema and the value, and accepts everything that the whole schema accepts. Throws an
 * `A2AError` that names the field if it is not a schema, or is too deep or too large.
 */
export function boundedSchema(schema: unknown, field: string): unknown {
  return new SchemaReader().schema(schema, field, 1);
}

/** The bounded schema of the arguments of a call. Also throws if it is not an object schema. */
export function argumentSchema(schema: Metadata, field: string): Metadata {
  if ((schema["type"] ?? "object") !== "object") {
    throw invalidParams(`${field}.type`, 'must be "object": arguments have names');
  }
  return new SchemaReader().object(schema, field, 1);
}

const MAX_SCHEMAS = 4096;

const MAX_DEPTH = 32;

class SchemaReader {
  #schemas = 0;

  schema(value: unknown, field: string, depth: number): unknown {
    if (typeof value === "boolean") return value;
    if (!isObject(value)) throw invalidParams(field, "must be a JSON Schema");
    return this.object(value, field, depth);
  }

  object(given: Metadata, field: string, depth: number): Metadata {
    this.#schemas += 1;
    if (depth > MAX_DEPTH) throw invalidParams(field, `is nested deeper than ${MAX_DEPTH} levels`);
    if (this.#schemas > MAX_SCHEMAS) {
      throw invalidParams(field, `is one schema more than ${MAX_SCHEMAS}`);
    }
    const kept: Record<string, unknown> = { ...simpleKeywords(given, field) };
    const { properties, additionalProperties, patternProperties, items, prefixItems } = given;
    if (properties !== undefined) {
      kept["properties"] = this.#map(properties, `${field}.properties`, depth);
    }
    // `patternProperties`, which is dropped, may allow properties that are not listed.
    if (additionalProperties !== undefined && patternProperties === undefined) {
      const place = `${field}.additionalProperties`;
      kept["additionalProperties"] = this.schema(additionalProperties, place, depth + 1);
    }
    if (Array.isArray(items)) kept["items"] = this.#list(items, `${field}.items`, depth);
    else if (items !== undefined) kept["items"] = this.schema(items, `${field}.items`, depth + 1);
    if (prefixItems !== undefined) {
      kept["prefixItems"] = this.#list(prefixItems, `${field}.prefixItems`, depth);
    }
    return { ...kept, ...this.#combined(given, field, depth) };
  }

  /** `oneOf` becomes `anyOf`: the dropped keywords might have been what tells the choices apart. */
  #combined({ allOf, anyOf, oneOf }: Metadata, field: string, depth: number): Metadata {
    const all = allOf === undefined ? [] : this.#list(allOf, `${field}.allOf`, depth);
    const any = [
      ...(anyOf === undefined ? [] : [this.#list(anyOf, `${field}.anyOf`, depth)]),
      ...(oneOf === undefined ? [] : [this.#list(oneOf, `${field}.oneOf`, depth)]),
    ].map((choices) => ({ anyOf: choices }));
    const both = [...all, ...any];
    return both.length === 0 ? {} : { allOf: both };
  }

  #map(value: unknown, field: string, depth: number): Metadata {
    if (!isObject(value)) throw invalidParams(field, "must be an object of schemas");
    return Object.fromEntries(
      Object.entries(value).map(([name, schema]) => [
        name,
        this.schema(schema, `${field}[${JSON.stringify(name)}]`, depth + 1),
      ]),
    );
  }

  #list(value: unknown, field: string, depth: number): readonly unknown[] {
    if (!Array.isArray(value) || value.length === 0) {
      throw invalidParams(field, "must be a list of schemas");
    }
    return value.map((schema, place) => this.schema(schema, `${field}[${place}]`, depth + 1));
  }
}

const NUMBERS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
] as const;

const TYPES: ReadonlySet<unknown> = new Set([
  "object",
  "array",
  "string",
  "number",
  "integer",
  "boolean",
  "null",
]);

/** The keywords that contain no schemas. */
function simpleKeywords(schema: Metadata, field: string): Metadata {
  const { type, required, enum: choices } = schema;
  if (type !== undefined && ![type].flat().every((name) => TYPES.has(name))) {
    throw invalidParams(`${field}.type`, `must be one of ${[...TYPES].join(", ")}`);
  }
  const isNamed = (name: unknown): boolean => typeof name === "string";
  if (required !== undefined && !(Array.isArray(required) && required.every(isNamed))) {
    throw invalidParams(`${field}.required`, "must be a list of names");
  }
  if (choices !== undefined && !(Array.isArray(choices) && choices.length > 0)) {
    throw invalidParams(`${field}.enum`, "must be a list of values");
  }
  const kept: Record<string, unknown> = {};
  for (const keyword of NUMBERS) {
    const value = schema[keyword];
    if (value === undefined) continue;
    if (typeof value !== "number") throw invalidParams(`${field}.${keyword}`, "must be a number");
    kept[keyword] = value;
  }
  for (const keyword of ["type", "required", "enum", "const"] as const) {
    if (Object.hasOwn(schema, keyword)) kept[keyword] = schema[keyword];
  }
  return kept;
}
