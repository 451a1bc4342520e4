import type { JsonSchema } from "../model.ts";

/** What takes the words of the user, such as the message to another agent. */
const WORDS = /^(message|prompt|text|query|question|task|input|instructions?|request|content)$/i;

const BY_FORMAT: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  email: "ann@example.com",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

/** Arguments that a schema takes, made up. Only those it requires. */
export function fakeArguments(schema: JsonSchema, text: string): Record<string, unknown> {
  const properties = Object.entries(propertiesOf(schema));
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.fromEntries(
    properties
      .filter(([name]) => required.includes(name))
      .map(([name, property]) => [name, fake(name, property, text)]),
  );
}

/** The arguments that a schema names. */
export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema["properties"];
  return typeof properties === "object" && properties !== null
    ? (properties as Readonly<Record<string, JsonSchema>>)
    : {};
}

function fake(name: string, schema: JsonSchema, text: string): unknown {
  for (const key of ["const", "default"]) if (key in schema) return schema[key];
  for (const key of ["enum", "examples"]) {
    const [first] = Array.isArray(schema[key]) ? (schema[key] as unknown[]) : [];
    if (first !== undefined) return first;
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const [first] = Array.isArray(schema[key]) ? (schema[key] as JsonSchema[]) : [];
    if (first !== undefined) return fake(name, first, text);
  }
  const types = [schema["type"]].flat();
  if (types.includes("object") || "properties" in schema) return fakeArguments(schema, text);
  if (types.includes("array")) return fakeList(name, schema, text);
  if (types.includes("number") || types.includes("integer")) return fakeNumber(schema);
  if (types.includes("boolean")) return true;
  if (types.includes("null")) return null;
  return fakeText(name, schema, text);
}

function fakeList(name: string, schema: JsonSchema, text: string): readonly unknown[] {
  const items = (schema["items"] ?? {}) as JsonSchema;
  const length = Math.min(Math.max(1, Number(schema["minItems"] ?? 1)), 20);
  return Array.from({ length }, () => fake(name, items, text));
}

function fakeNumber(schema: JsonSchema): number {
  const step = Number(schema["multipleOf"] ?? 1);
  const least =
    "exclusiveMinimum" in schema
      ? Number(schema["exclusiveMinimum"]) + step
      : Number(schema["minimum"] ?? step);
  const most =
    "exclusiveMaximum" in schema
      ? Number(schema["exclusiveMaximum"]) - step
      : Number(schema["maximum"] ?? least);
  return Math.min(least, most);
}

function fakeText(name: string, schema: JsonSchema, text: string): string {
  const value =
    BY_FORMAT[String(schema["format"])] ??
    (WORDS.test(name) && text !== "" ? text : `demo ${name}`);
  const least = Number(schema["minLength"] ?? 0);
  const most = Number(schema["maxLength"] ?? Number.POSITIVE_INFINITY);
  return value.padEnd(least, ".").slice(0, most);
}
