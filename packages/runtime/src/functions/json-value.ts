/**
 * What a step may return: everything that JSON keeps as it is, and nothing at all. Objects may be of
 * an interface. A property that is `undefined` is left out. Otherwise it is a sentence that names what
 * is no JSON. A wrapper of `step` takes a body of the type `((context: StepContext) => T) & StepResult<T>`.
 */
export type StepResult<T> = [NotJson<Awaited<T>, "", Depth>] extends [never]
  ? unknown
  : `a step returns JSON, but its result${NotJson<Awaited<T>, "", Depth>} is not`;

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

/** How deep a type is searched: a recursive one has no end. */
type Depth = [1, 1, 1, 1, 1];

/** The paths of what is no JSON, as far as the type says; `any` and `unknown` are. */
type NotJson<T, Path extends string, Left extends readonly unknown[]> = 0 extends 1 & T
  ? never
  : unknown extends T
    ? never
    : T extends Simple
      ? never
      : T extends NeverJson
        ? Path
        : Left extends readonly [unknown, ...infer Less]
          ? NotJsonWithin<T, Path, Less>
          : never;

type NotJsonWithin<
  T,
  Path extends string,
  Left extends readonly unknown[],
> = T extends readonly (infer Item)[]
  ? NotJson<Item, `${Path}[]`, Left>
  : { [Key in keyof T & string]-?: NotJson<T[Key], `${Path}.${Key}`, Left> }[keyof T & string];

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
