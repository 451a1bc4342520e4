import { invalidParams } from "@convoke/protocol";

/** How the text of a query parameter is read (1.0 §11.5). */
export type QueryType = "text" | "integer" | "boolean";

/** Reads the parameters of the given types from a query. What it does not know, it leaves out. */
export function readQuery(
  query: URLSearchParams,
  types: Readonly<Record<string, QueryType>>,
): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(types)) {
    const value = onlyValue(query, name);
    if (value !== undefined) read[name] = READERS[type](value, name);
  }
  return read;
}

/** The value of a parameter that may be given once. */
export function onlyValue(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw invalidParams(name, `is given ${values.length} times; give it once`);
  return values[0];
}

const READERS: Readonly<Record<QueryType, (value: string, name: string) => unknown>> = {
  text: (value) => value,
  integer: (value, name) => {
    const number = Number(value);
    if (/^-?\d+$/.test(value) && Number.isSafeInteger(number)) return number;
    throw invalidParams(name, `must be an integer, not ${JSON.stringify(value)}`);
  },
  boolean: (value, name) => {
    if (value === "true" || value === "false") return value === "true";
    throw invalidParams(name, `must be true or false, not ${JSON.stringify(value)}`);
  },
};
