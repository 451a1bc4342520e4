import fc, { type Arbitrary } from "fast-check";
import type { Schema } from "./schema.ts";

/** Some that objects inherit, one that is `__proto__`, and some that a pointer must escape. */
const names = fc.constantFrom("a", "b", "c", "0", "a/b", "~", "constructor", "__proto__");

const bounds = fc.constantFrom(0, 1, 2, 3);
const limits = fc.constantFrom(
  -1,
  0,
  0.5,
  1,
  100,
  Number.MIN_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER,
);
const patterns = fc.constantFrom("^[a-z]+$", "a", "^.$", "^\\p{L}*$", "^[A-Za-z0-9_-]{1,64}$");
const scalars = fc.oneof(fc.constantFrom("", "a", "b", "message"), fc.constantFrom(-0, 0, 1, 2));

/** Also lone surrogates, and characters of two units. */
const texts = fc.string({
  unit: fc.constantFrom("a", "B", "é", "💥", "\ud83d", "\udca5", "-"),
  maxLength: 5,
});

const numbers = fc.oneof(
  fc.constantFrom(NaN, Infinity, -Infinity, -0, 0, 0.5, 1.0, 1e21, 2 ** 53, -(2 ** 53), 101),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Number.MIN_VALUE, 1e308),
  fc.integer({ min: -2, max: 4 }),
  fc.double(),
);

/** Any value, including what JSON does not have. */
export const anything: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(undefined, null, true, false, 5n, Symbol("s"), () => 5, new Date(0)),
  texts,
  numbers,
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom([], {}, Object.create(null), new Map([["a", 1]]), /a/),
  // A sparse array.
  fc.integer().map((last) => Object.assign([], { 2: last })),
);

/** Any schema, up to a depth; its bounds may contradict each other. */
export const schemas: Arbitrary<Schema> = fc.letrec<{ schema: Schema; leaf: Schema }>((tie) => ({
  leaf: fc.oneof<Arbitrary<Schema>[]>(
    some(
      { type: fc.constant("string") },
      { minLength: bounds, maxLength: bounds, pattern: patterns },
    ),
    some({ type: fc.constantFrom("integer", "number") }, { minimum: limits, maximum: limits }),
    fc.constant({ type: "boolean" }),
    fc.record({ enum: fc.array(scalars, { maxLength: 3 }) }),
    fc.record({ const: scalars }),
  ),
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("leaf"),
    some(
      { type: fc.constant("object") },
      {
        required: fc.uniqueArray(names, { maxLength: 3 }),
        properties: fc
          .uniqueArray(fc.tuple(names, tie("schema")), { selector: ([name]) => name, maxLength: 4 })
          .map((entries) => Object.fromEntries(entries)),
      },
    ),
    some(
      { type: fc.constant("array") },
      { items: tie("schema"), minItems: bounds, maxItems: bounds },
    ),
  ),
})).schema;

/** The fixed keywords, with any of the others. */
function some(fixed: object, others: object): Arbitrary<Schema> {
  const model = { ...fixed, ...others } as Record<string, Arbitrary<unknown>>;
  return fc.record(model, {
    requiredKeys: Object.keys(fixed),
    noNullPrototype: true,
  }) as unknown as Arbitrary<Schema>;
}

/** A value that mostly matches a schema, and is broken in a few places, at any depth. */
export function almost(schema: Schema): Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: fitting(schema) }, { weight: 1, arbitrary: anything });
}

function fitting(schema: Schema): Arbitrary<unknown> {
  if (schema.type === undefined) {
    const choices = "enum" in schema ? schema.enum : [schema.const];
    return choices.length === 0 ? anything : fc.constantFrom(...choices);
  }
  switch (schema.type) {
    case "string": {
      const { minLength = 0, maxLength = minLength + 3, pattern } = schema;
      // Ids, whose pattern excludes characters that the generator does not know.
      if (schema.mismatch !== undefined) return fc.oneof(fc.string({ maxLength: 9 }), texts);
      if (pattern !== undefined)
        return fc.oneof(fc.stringMatching(new RegExp(pattern, "u")), texts);
      const [least, most] = [Math.min(minLength, maxLength), Math.max(minLength, maxLength)];
      return fc.string({
        unit: "grapheme",
        minLength: least,
        maxLength: Math.min(most, least + 9),
      });
    }
    case "integer":
      return fc.oneof(fc.nat({ max: 100 }), numbers);
    case "number":
      return numbers;
    case "boolean":
      return fc.boolean();
    case "array": {
      const { items, minItems = 0, maxItems = minItems + 2 } = schema;
      const [least, most] = [Math.min(minItems, maxItems), Math.max(minItems, maxItems)];
      const item = items === undefined ? anything : almost(items);
      return fc.array(item, { minLength: least, maxLength: Math.min(most, least + 3) + 1 });
    }
    case "object":
      return objectsOf(schema.required ?? [], schema.properties ?? {});
  }
}

/** Required properties are mostly present, optional and additional ones sometimes. */
function objectsOf(
  required: readonly string[],
  properties: Readonly<Record<string, Schema>>,
): Arbitrary<unknown> {
  const known = [...new Set([...required, ...Object.keys(properties)])];
  const entries = known.map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const value = property === undefined ? anything : almost(property);
    const absence = required.includes(name) ? 20 : 2;
    return fc.option(fc.tuple(fc.constant(name), value), { freq: absence, nil: undefined });
  });
  const more = fc.option(fc.tuple(names, anything), { freq: 1, nil: undefined });
  return fc
    .tuple(more, ...entries)
    .map((given) => Object.fromEntries(given.filter((entry) => entry !== undefined)));
}
