/** A JSON object whose members are not known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The path of a field inside another, for errors. `params` is the root of the caller's fields and is omitted. */
export function fieldIn(path: string, name: string): string {
  return path === "" || path === "params" ? name : `${path}.${name}`;
}

/** The name of a field in a proto: `message_id` for `messageId`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * The canonical form of a JSON value according to RFC 8785 (JCS): no whitespace, keys ordered by
 * their UTF-16 code units, numbers and strings as ECMAScript writes them.
 *
 * A value that JSON cannot represent is a TypeError that names its path. `JSON.stringify` would
 * omit or replace it, and then two different values would have the same signature.
 */
export function canonicalJson(value: unknown): string {
  return write(value, "value", []);
}

function write(value: unknown, path: string, parents: readonly object[]): string {
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      return writeNumber(value, path);
    case "string":
      return writeString(value, path);
    case "object":
      return value === null ? "null" : writeObject(value, path, parents);
    default:
      throw new TypeError(`${path} is ${describe(value)}, which JSON does not have`);
  }
}

function writeNumber(value: number, path: string): string {
  if (!Number.isFinite(value)) throw new TypeError(`${path} is ${value}, which JSON does not have`);
  return JSON.stringify(value);
}

function writeString(value: string, path: string): string {
  if (!value.isWellFormed()) {
    throw new TypeError(`${path} has half of a surrogate pair, which has no UTF-8`);
  }
  return JSON.stringify(value);
}

/** Deeper than any agent card. Without a limit, a hostile value could exhaust the stack. */
const MAX_DEPTH = 256;

function writeObject(value: object, path: string, parents: readonly object[]): string {
  if (parents.includes(value)) throw new TypeError(`${path} holds itself; JSON has no cycles`);
  if (parents.length >= MAX_DEPTH) {
    throw new TypeError(`${path} is nested deeper than ${MAX_DEPTH} levels`);
  }
  const within = [...parents, value];
  if (Array.isArray(value)) {
    // Not `map`, which would skip holes.
    const items = Array.from(value, (item, index) => write(item, `${path}[${index}]`, within));
    return `[${items.join(",")}]`;
  }
  if (!isPlain(value)) {
    throw new TypeError(`${path} is an instance of a class; JSON has plain objects only`);
  }
  const members = Object.entries(value)
    .toSorted(byCodeUnits)
    .map(([key, member]) => {
      const place = `${path}[${JSON.stringify(key)}]`;
      return `${writeString(key, place)}:${write(member, place, within)}`;
    });
  return `{${members.join(",")}}`;
}

/** Operators compare strings by code units; `localeCompare` would depend on the locale. */
function byCodeUnits([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** True also for an object of another realm, whose `Object.prototype` is not ours. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function describe(value: unknown): string {
  return value === undefined ? "undefined" : `a ${typeof value}`;
}

/** The value of a JSON text; the text itself if it is not JSON. An empty text is an empty object. */
export function jsonOrText(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
