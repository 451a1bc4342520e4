import { isObject } from "../wire/json.ts";

/** Some JSON with another value at the end of a path, or with none there. */
export function changed(json: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const object = isObject(json) ? json : {};
  const inner = changed(object[name], rest, value);
  if (inner !== undefined) return { ...object, [name]: inner };
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}
