// Read fields of unvalidated JSON. A field of the wrong type counts as absent.

export function textField(value: unknown, name: string): string {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : "";
}

export function listField(value: unknown, name: string): readonly unknown[] {
  const field = fieldOf(value, name);
  return Array.isArray(field) ? field : [];
}

export function objectField(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const field = fieldOf(value, name);
  return typeof field === "object" && field !== null ? (field as Record<string, unknown>) : {};
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
