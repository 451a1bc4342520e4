import { isObject } from "@convoke/protocol/internal";

/** A part of a form. */
export type SchemaField = FieldText & {
  readonly isRequired: boolean;
  /** Whether it may be null, which is what an empty field then means. */
  readonly isNullable: boolean;
} & (
    | { readonly kind: "text"; readonly isLong: boolean; readonly bounds: Bounds }
    | { readonly kind: "number"; readonly isInteger: boolean; readonly bounds: Bounds }
    | { readonly kind: "flag" }
    | { readonly kind: "choice"; readonly options: readonly unknown[] }
    /** A list of texts or numbers, one on each line. */
    | { readonly kind: "list"; readonly item: "text" | "number"; readonly bounds: Bounds }
    | { readonly kind: "group"; readonly fields: readonly (readonly [string, SchemaField])[] }
    /** Anything else is written as JSON. */
    | { readonly kind: "json" }
  );

interface FieldText {
  readonly label: string;
  readonly description?: string;
}

interface Bounds {
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

/** What is wrong with a value, and where. */
export interface FieldProblem {
  /** The names of the fields that lead to it, outermost first. */
  readonly path: readonly string[];
  readonly text: string;
}

const MAX_DEPTH = 6;

/** The field for a JSON schema of an untrusted agent. What it does not understand is a field for JSON. */
export function fieldFor(
  schema: unknown,
  name = "",
  { isRequired = true, depth = 0 } = {},
): SchemaField {
  const given = isObject(schema) ? schema : {};
  const { plain, isNullable } = withoutNull(given);
  const label = typeof plain["title"] === "string" ? plain["title"] : name;
  const description = plain["description"];
  const base = {
    label,
    ...(typeof description === "string" && { description }),
    isRequired,
    isNullable,
  };
  const options = plain["enum"];
  if (Array.isArray(options)) {
    return { ...base, kind: "choice", options: options.filter((option) => option !== null) };
  }
  if ("const" in plain) return { ...base, kind: "choice", options: [plain["const"]] };
  return { ...base, ...fieldOfType(plain, depth) };
}

type FieldKind = SchemaField extends infer Field
  ? Field extends SchemaField
    ? Omit<Field, keyof FieldText | "isRequired" | "isNullable">
    : never
  : never;

function fieldOfType(schema: Readonly<Record<string, unknown>>, depth: number): FieldKind {
  switch (schema["type"]) {
    case "string":
      return {
        kind: "text",
        isLong: schema["format"] === "textarea" || Number(schema["maxLength"]) > 500,
        bounds: boundsIn(schema, "Length"),
      };
    case "number":
    case "integer":
      return {
        kind: "number",
        isInteger: schema["type"] === "integer",
        bounds: boundsIn(schema, "imum"),
      };
    case "boolean":
      return { kind: "flag" };
    case "array":
      return listField(schema);
    case "object":
      return groupField(schema, depth);
    default:
      return { kind: "json" };
  }
}

function listField(schema: Readonly<Record<string, unknown>>): FieldKind {
  const type = isObject(schema["items"]) ? schema["items"]["type"] : undefined;
  const bounds = boundsIn(schema, "Items");
  if (type === "string") return { kind: "list", item: "text", bounds };
  if (type === "number" || type === "integer") return { kind: "list", item: "number", bounds };
  return { kind: "json" };
}

function groupField(schema: Readonly<Record<string, unknown>>, depth: number): FieldKind {
  const { properties, required } = schema;
  if (!isObject(properties) || depth >= MAX_DEPTH) return { kind: "json" };
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(
    ([name, property]) =>
      [
        name,
        fieldFor(property, name, { isRequired: names.includes(name), depth: depth + 1 }),
      ] as const,
  );
  return { kind: "group", fields };
}

/** Takes null out of a type, or out of a choice between null and one schema. */
function withoutNull(schema: Readonly<Record<string, unknown>>): {
  readonly plain: Readonly<Record<string, unknown>>;
  readonly isNullable: boolean;
} {
  const { type, anyOf, oneOf, ...rest } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== "null");
    const plain = { ...rest, type: types.length === 1 ? types[0] : undefined };
    return { plain, isNullable: types.length < type.length };
  }
  const choices = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  const others = choices.filter((choice) => !isObject(choice) || choice["type"] !== "null");
  if (others.length === 1 && isObject(others[0])) {
    return { plain: { ...rest, ...others[0] }, isNullable: others.length < choices.length };
  }
  return { plain: { ...rest, type }, isNullable: false };
}

function boundsIn(schema: Readonly<Record<string, unknown>>, suffix: string): Bounds {
  const bound = (name: string): number | undefined =>
    typeof schema[name] === "number" ? schema[name] : undefined;
  return { least: bound(`min${suffix}`), most: bound(`max${suffix}`) };
}

/** A field for a value whose schema is not known. */
export function fieldForValue(value: unknown, name = "", depth = 0): SchemaField {
  const base = { label: name, isRequired: true, isNullable: false } as const;
  if (typeof value === "string") {
    const isLong = value.includes("\n") || value.length > 80;
    return { ...base, kind: "text", isLong, bounds: {} };
  }
  if (typeof value === "number") return { ...base, kind: "number", isInteger: false, bounds: {} };
  if (typeof value === "boolean") return { ...base, kind: "flag" };
  if (isObject(value) && depth < MAX_DEPTH) {
    const fields = Object.entries(value).map(
      ([key, one]) => [key, fieldForValue(one, key, depth + 1)] as const,
    );
    return { ...base, kind: "group", fields };
  }
  return { ...base, kind: "json" };
}

/** What a form begins with. */
export function initialValue(field: SchemaField): unknown {
  if (field.kind === "group") {
    return Object.fromEntries(
      field.fields
        .map(([name, one]) => [name, initialValue(one)] as const)
        .filter(([, value]) => value !== undefined),
    );
  }
  return field.kind === "flag" && field.isRequired ? false : undefined;
}

/** The problems of a value, by field. */
export function findProblems(
  field: SchemaField,
  value: unknown,
  path: readonly string[] = [],
): readonly FieldProblem[] {
  if (value === undefined || value === null) {
    if (!field.isRequired || field.isNullable) return [];
    return [{ path, text: "Fill in this field." }];
  }
  if (field.kind === "group") {
    const fields = isObject(value) ? value : {};
    return field.fields.flatMap(([name, one]) => findProblems(one, fields[name], [...path, name]));
  }
  const text = problemOf(field, value);
  return text === undefined ? [] : [{ path, text }];
}

function problemOf(field: SchemaField, value: unknown): string | undefined {
  switch (field.kind) {
    case "text":
      return boundProblem(field.bounds, String(value).length, "characters");
    case "number":
      if (typeof value !== "number" || Number.isNaN(value)) return "Enter a number.";
      if (field.isInteger && !Number.isInteger(value)) return "Enter a whole number.";
      return boundProblem(field.bounds, value, "");
    case "list":
      if (!Array.isArray(value) || value.some((item) => Number.isNaN(item)))
        return "Enter one number on each line.";
      return boundProblem(field.bounds, value.length, "lines");
    default:
      return undefined;
  }
}

function boundProblem({ least, most }: Bounds, given: number, unit: string): string | undefined {
  if (least !== undefined && given < least) return `Use at least ${`${least} ${unit}`.trim()}.`;
  if (most !== undefined && given > most) return `Use at most ${`${most} ${unit}`.trim()}.`;
  return undefined;
}
