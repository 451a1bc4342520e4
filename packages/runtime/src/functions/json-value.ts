/**
 * What a step may return: everything that JSON keeps as it is, and nothing at all. Objects may be of
 * an interface. A property that is `undefined` is left out.
 */
export type StepResult<T> = IsJson<Awaited<T>> extends true ? unknown : NotJson;

/** Shown by the compiler for a step whose result would not survive a restart. */
interface NotJson {
  readonly "a step returns JSON: no Date, Map, Set, bigint, function or class instance": never;
}

type Simple = string | number | boolean | null | undefined | void;

type NeverJson =
  | bigint
  | symbol
  | Date
  | RegExp
  | Error
  | Promise<unknown>
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | ((...args: never) => unknown);

/** True if every possible value is JSON as far as the type says; `any` and `unknown` are. */
type IsJson<T> = 0 extends 1 & T
  ? true
  : unknown extends T
    ? true
    : (T extends unknown ? IsJsonMember<T> : never) extends true
      ? true
      : false;

type IsJsonMember<T> = T extends Simple
  ? true
  : T extends NeverJson
    ? false
    : T extends readonly (infer Item)[]
      ? IsJson<Item>
      : T extends object
        ? false extends { [Key in keyof T]-?: IsJson<T[Key]> }[keyof T]
          ? false
          : true
        : false;

/**
 * A copy of the value as JSON stores it. Throws a TypeError that names the path of anything that
 * JSON would drop or replace, because a restart would then change it.
 */
export function jsonCopy<T>(value: T, path: string): T {
  return copy(value, path, new Set()) as T;
}

function copy(value: unknown, path: string, parents: ReadonlySet<object>): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw unfit(path, String(value));
    case "object":
      return value === null ? null : copyObject(value, path, parents);
    default:
      throw unfit(path, value === undefined ? "undefined" : `a ${typeof value}`);
  }
}

function copyObject(value: object, path: string, parents: ReadonlySet<object>): unknown {
  if (parents.has(value)) throw unfit(path, "an object that contains itself");
  const within = new Set(parents).add(value);
  if (Array.isArray(value)) {
    // Not `map`, which would skip holes.
    return Array.from(value, (item, index) => copy(item, `${path}[${index}]`, within));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  // True also for a plain object of another realm, whose `Object.prototype` is not ours.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain) throw unfit(path, `a ${value.constructor?.name || "class instance"}`);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, copy(field, `${path}.${name}`, within)]),
  );
}

function unfit(path: string, what: string): TypeError {
  return new TypeError(
    `${path} is ${what}, which cannot be stored as JSON; return plain data, such as a string, ` +
      "a list or an object of them",
  );
}
