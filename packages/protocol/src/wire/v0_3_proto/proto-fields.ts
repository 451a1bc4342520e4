/** The fields of one proto message, by every name a ProtoJSON parser has to take. */
export interface ProtoShape {
  /** From `messageId` and `message_id` to `messageId`. */
  readonly names: ReadonlyMap<string, string>;
  readonly integers: ReadonlySet<string>;
}

interface ShapeOptions {
  /** Other names of a field, with the one that counts. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Fields that are integers, which ProtoJSON also takes as text. */
  readonly integers?: readonly string[];
}

/** A shape of its JSON names. */
export function shapeOf(names: readonly string[], options: ShapeOptions = {}): ProtoShape {
  const { aliases = {}, integers = [] } = options;
  return {
    names: new Map([
      ...Object.entries(aliases),
      ...names.flatMap((name) => [[snakeCase(name), name] as const, [name, name] as const]),
    ]),
    integers: new Set(integers),
  };
}

/**
 * The fields under their JSON names. A field that is null is absent, and where
 * a field is there under two names the JSON name counts. What is no object, and
 * what the shape does not know, stays as it is: the schema judges it.
 */
export function fieldsOf(value: unknown, shape: ProtoShape): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).flatMap(([key, inner]) => {
    const name = shape.names.get(key);
    if (name === undefined) return [[key, inner] as const];
    if (inner === null || (name !== key && hasValue(value, name))) return [];
    return [[name, shape.integers.has(name) ? integerOf(inner) : inner] as const];
  });
  return Object.fromEntries(entries);
}

function hasValue(value: object, name: string): boolean {
  const inner = (value as Readonly<Record<string, unknown>>)[name];
  return Object.hasOwn(value, name) && inner !== null;
}

function integerOf(value: unknown): unknown {
  return typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
