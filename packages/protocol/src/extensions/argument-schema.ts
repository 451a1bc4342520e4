import { invalidParams } from "../errors.ts";
import type { Metadata } from "../part.ts";

const MAX_DEPTH = 32;
const MAX_SCHEMAS = 4096;

const TYPES: ReadonlySet<unknown> = new Set([
  "object",
  "array",
  "string",
  "number",
  "integer",
  "boolean",
  "null",
]);

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

/**
 * The part of a foreign JSON Schema that is safe to check values by. Whoever wrote it may have
 * written anything: a pattern that backtracks or a reference that never comes to an end must not be
 * followed by the agent. What is left takes time in proportion to the schema and the value, and
 * refuses nothing that the whole would take. Throws an `A2AError` that names the place if it is not
 * a schema, or too deep or too large.
 */
export function boundedSchema(schema: unknown, field: string): unknown {
  return new Reading().schema(schema, field, 1);
}

/** A bounded schema of the arguments of a call. Throws as well if it is not a schema of an object. */
export function argumentSchema(schema: Metadata, field: string): Metadata {
  if ((schema["type"] ?? "object") !== "object") {
    throw invalidParams(`${field}.type`, 'must be "object": arguments have names');
  }
  return new Reading().object(schema, field, 1);
}

class Reading {
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
    // By patterns it may allow what is no property.
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

  /** Of `oneOf` only that one fits at all: what was left out of the others might tell them apart. */
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

/** The keywords that have no schemas in them. */
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

function isObject(value: unknown): value is Metadata {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
