import type { ListSchema, NumberSchema, Schema, TextSchema } from "./schema.ts";

const NO_TEXT = problemOf("must be a string");

const NO_OBJECT = problemOf("must be an object");

const MISSING = problemOf("is required");

const NO_INTEGER = problemOf("must be an integer");

const NO_NUMBER = problemOf("must be a number");

const NO_LIST = problemOf("must be an array");

const NO_BOOLEAN = problemOf("must be a boolean");

/** What may stand beside each type. */
const KEYWORDS: Readonly<Record<NonNullable<Schema["type"]>, readonly string[]>> = {
  object: ["required", "properties"],
  array: ["items", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern"],
  integer: ["minimum", "maximum"],
  number: ["minimum", "maximum"],
  boolean: [],
};

/**
 * Makes a schema a function that finds the first problem of a value. It is built of functions
 * inside functions and of no code from texts, so it runs where pages and edges forbid that.
 *
 * Throws a TypeError about a keyword that would not be checked: `place` is where it stands.
 */
export function compileSchema(schema: Schema, place = "schema"): FindProblem {
  refuseUnknown(schema, place);
  if (schema.type === undefined) {
    return "enum" in schema ? enumProblem(schema.enum) : constProblem(schema.const);
  }
  switch (schema.type) {
    case "object": {
      const { required = [], properties = {} } = schema;
      const compiled = Object.entries(properties).map(
        ([name, property]) =>
          [name, compileSchema(property, `${place}.properties.${name}`)] as const,
      );
      return objectProblem({ required, properties: compiled });
    }
    case "array": {
      const { items, ...bounds } = schema;
      const findInItem = items && compileSchema(items, `${place}.items`);
      return listProblem({ ...bounds, findInItem });
    }
    case "string":
      return textProblem(schema);
    case "integer":
    case "number":
      return numberProblem(schema);
    case "boolean":
      return booleanProblem;
  }
}

function refuseUnknown(schema: Schema, place: string): void {
  const { type, ...rest } = schema;
  const keywords = Object.keys(rest);
  if (type === undefined) {
    const [keyword, more] = keywords;
    if ((keyword === "enum" || keyword === "const") && more === undefined) return;
    throw new TypeError(
      `${place} must have a type, or enum or const alone; it has ${keywords.join(", ") || "nothing"}`,
    );
  }
  if (typeof type !== "string" || !Object.hasOwn(KEYWORDS, type)) {
    const known = Object.keys(KEYWORDS).join(", ");
    throw new TypeError(`${place}.type must be one of ${known}, not ${JSON.stringify(type)}`);
  }
  const unknown = keywords.find((keyword) => !KEYWORDS[type].includes(keyword));
  if (unknown === undefined) return;
  const known = KEYWORDS[type].join(", ") || "nothing else";
  throw new TypeError(
    `${place}.${unknown} is not checked: beside the type ${type} there is ${known}`,
  );
}

function booleanProblem(value: unknown): Problem | undefined {
  return typeof value === "boolean" ? undefined : NO_BOOLEAN;
}

/** One of some values. */
function enumProblem(choices: readonly unknown[]): FindProblem {
  const other = problemOf(`must be one of ${choices.join(", ")}`);
  return (value) => (choices.includes(value) ? undefined : other);
}

/** One value alone. */
function constProblem(only: unknown): FindProblem {
  const other = problemOf(`must be ${JSON.stringify(only)}`);
  return (value) => (value === only ? undefined : other);
}

/** How a list is checked. */
interface ListRules extends Pick<ListSchema, "minItems" | "maxItems"> {
  readonly findInItem: FindProblem | undefined;
}

/** The items come before their number: an error of one of them says more. */
function listProblem({ findInItem, minItems = 0, maxItems = Infinity }: ListRules): FindProblem {
  const tooFew = problemOf(
    minItems === 1 ? "must not be empty" : `must not have fewer than ${minItems} items`,
  );
  const tooMany = problemOf(`must not have more than ${maxItems} items`);
  return (value) => {
    if (!Array.isArray(value)) return NO_LIST;
    if (findInItem !== undefined) {
      const items: readonly unknown[] = value;
      for (let place = 0; place < items.length; place++) {
        const problem = findInItem(items[place]);
        // A hole is no item. JSON has none, but callers in this process may.
        if (problem !== undefined && Object.hasOwn(items, place)) return problemAt(place, problem);
      }
    }
    if (value.length < minItems) return tooFew;
    return value.length > maxItems ? tooMany : undefined;
  };
}

/** What is infinite or NaN is no number: JSON has neither. */
function numberProblem(schema: NumberSchema): FindProblem {
  const { type, minimum = -Infinity, maximum = Infinity } = schema;
  const isInteger = type === "integer";
  const tooSmall = problemOf(`must be >= ${minimum}`);
  const tooLarge = problemOf(`must be <= ${maximum}`);
  return (value) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      return isInteger ? NO_INTEGER : NO_NUMBER;
    }
    if (isInteger && !Number.isInteger(value)) return NO_INTEGER;
    if (value < minimum) return tooSmall;
    return value > maximum ? tooLarge : undefined;
  };
}

/** How the properties of an object are checked. */
interface ObjectRules {
  readonly required: readonly string[];
  readonly properties: readonly (readonly [name: string, findProblem: FindProblem])[];
}

/**
 * Only what an object has itself counts, never what it inherits: otherwise every object had a
 * `constructor`. An optional property that is `undefined` is absent, a required one is not.
 */
function objectProblem({ required, properties }: ObjectRules): FindProblem {
  const rules = properties.map(([name, findProblem]) => ({
    name,
    findProblem,
    isRequired: required.includes(name),
  }));
  return (value) => {
    if (!isObject(value)) return NO_OBJECT;
    for (const name of required) {
      if (!Object.hasOwn(value, name)) return problemAt(name, MISSING);
    }
    for (const { name, findProblem, isRequired } of rules) {
      const given = value[name];
      if (given === undefined && !isRequired) continue;
      const problem = findProblem(given);
      // Asked last, because it is asked of broken values alone then.
      if (problem !== undefined && Object.hasOwn(value, name)) return problemAt(name, problem);
    }
    return undefined;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textProblem(schema: TextSchema): FindProblem {
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const tooShort = problemOf(
    minLength === 1 ? "must not be empty" : `must not have fewer than ${minLength} characters`,
  );
  const tooLong = problemOf(`must not have more than ${maxLength} characters`);
  const unlike = problemOf(`must match pattern "${pattern}"`);
  const expression = pattern === undefined ? undefined : new RegExp(pattern, "u");
  return (value) => {
    if (typeof value !== "string") return NO_TEXT;
    if (!isAtLeast(value, minLength)) return tooShort;
    if (!isAtMost(value, maxLength)) return tooLong;
    return expression === undefined || expression.test(value) ? undefined : unlike;
  };
}

// A text has at most as many code points as units, and at least half as many: mostly its length
// alone decides, however long it is.

function isAtLeast(text: string, count: number): boolean {
  return text.length >= 2 * count || (text.length >= count && codePoints(text) >= count);
}

function isAtMost(text: string, count: number): boolean {
  return text.length <= count || (text.length <= 2 * count && codePoints(text) <= count);
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** What is wrong with a value, and where in it. */
export interface Problem {
  /** Names of properties and places in lists, from the outside to the inside. */
  readonly path: readonly (string | number)[];
  /** What follows the name of the field: `must be a string`. */
  readonly text: string;
}

/** The first problem of a value. A value without one takes no memory. */
type FindProblem = (value: unknown) => Problem | undefined;

/** A problem of the value itself. */
function problemOf(text: string): Problem {
  return { path: [], text };
}

/** A problem of a property or an item, as its owner has it. */
function problemAt(step: string | number, { path, text }: Problem): Problem {
  return { path: [step, ...path], text };
}
