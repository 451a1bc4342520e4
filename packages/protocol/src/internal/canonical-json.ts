/** Deeper than any card; without a bound, a hostile one would exhaust the stack. */
const MAX_DEPTH = 256;

/**
 * The one spelling of a JSON value, as RFC 8785 (JCS) has it: no whitespace, keys in the order of
 * their UTF-16 code units, numbers and strings as ECMAScript writes them.
 *
 * What JSON cannot carry is a TypeError that names the place. `JSON.stringify` would leave it out
 * or replace it, and then two different values would have the same signature.
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
      throw new TypeError(`${path} is ${nameOf(value)}, which JSON does not have`);
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

function writeObject(value: object, path: string, parents: readonly object[]): string {
  if (parents.includes(value)) throw new TypeError(`${path} holds itself; JSON has no cycles`);
  if (parents.length >= MAX_DEPTH) {
    throw new TypeError(`${path} is nested deeper than ${MAX_DEPTH} levels`);
  }
  const within = [...parents, value];
  if (Array.isArray(value)) {
    // Not `map`, which would skip the holes.
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

/** The operators compare strings by code units, where `localeCompare` would ask the locale. */
function byCodeUnits([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** True also of an object from another realm, whose `Object.prototype` is not ours. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: unknown): string {
  return value === undefined ? "undefined" : `a ${typeof value}`;
}
