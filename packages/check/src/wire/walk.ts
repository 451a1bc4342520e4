import { isObject } from "./json.ts";

/** Below these, names are whatever somebody likes. */
const FREE = ["metadata", "data", "params", "header"];

/** The names of fields that are not camelCase. */
export function wrongNames(json: unknown): readonly string[] {
  if (Array.isArray(json)) return json.flatMap(wrongNames);
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => [
    ...(/^[a-z][a-zA-Z0-9]*$/.test(name) ? [] : [name]),
    ...(FREE.includes(name) ? [] : wrongNames(value)),
  ]);
}

/** Every value that has this name. */
export function valuesNamed(json: unknown, wanted: string): readonly unknown[] {
  if (Array.isArray(json)) return json.flatMap((each) => valuesNamed(each, wanted));
  if (!isObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => [
    ...(name === wanted ? [value] : []),
    ...(FREE.includes(name) ? [] : valuesNamed(value, wanted)),
  ]);
}
