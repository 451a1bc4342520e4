import { isObject } from "@convoke/protocol/internal";

/** The value at the end of a path of field names, or `undefined` if the path breaks off. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** The string at that path, or "". */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The list at that path, or an empty one. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The JSON in a text, or `undefined` if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A copy of some JSON with another value at the end of a path; `undefined` removes the field. */
export function withValueAt(json: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const object = isObject(json) ? json : {};
  const inner = withValueAt(object[name], rest, value);
  if (inner !== undefined) return { ...object, [name]: inner };
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

/** Fields whose content is free-form: the names below them belong to the user. */
const FREE_FORM = ["metadata", "data", "params", "header"];

/** The names of fields that are not camelCase. */
export function notCamelCase(json: unknown): readonly string[] {
  if (Array.isArray(json)) return json.flatMap(notCamelCase);
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => [
    ...(/^[a-z][a-zA-Z0-9]*$/.test(name) ? [] : [name]),
    ...(FREE_FORM.includes(name) ? [] : notCamelCase(value)),
  ]);
}

/** The values of all fields with this name, at any depth. */
export function valuesNamed(json: unknown, wanted: string): readonly unknown[] {
  if (Array.isArray(json)) return json.flatMap((each) => valuesNamed(each, wanted));
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => [
    ...(name === wanted ? [value] : []),
    ...(FREE_FORM.includes(name) ? [] : valuesNamed(value, wanted)),
  ]);
}
