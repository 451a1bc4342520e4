import { fieldIn, isObject } from "../internal/json.ts";
import { invalidParams } from "../model/errors.ts";
import type { ListSchema, NumberSchema, Schema, TextSchema } from "./schema.ts";

/** Throws an `InvalidParams` error that names the field and what it must be, if the value is invalid. */
type Check = (value: unknown, field: string) => void;

/** Compiles a schema to a check. A mistake in the schema is thrown here, when the module loads. */
export function compileCheck(schema: Schema): Check {
  const findProblem = compileSchema(schema);
  return (value, field) => {
    const problem = findProblem(value);
    if (problem !== undefined) throw invalidParams(fieldAt(field, problem.path), problem.text);
  };
}

/** Formats the path `message`, `parts`, 0 below `params` as `message.parts[0]`. */
function fieldAt(root: string, path: readonly (string | number)[]): string {
  let name = root;
  for (const step of path) {
    name = typeof step === "number" ? `${name}[${step}]` : fieldIn(name, step);
  }
  return name === "" ? "params" : name;
}

/** What is wrong with a value, and where. */
export interface Problem {
  /** Names of properties and indexes of items, outermost first. */
  readonly path: readonly (string | number)[];
  /** To be read after the name of the field: `must be a string`. */
  readonly text: string;
}

/** Finds the first problem of a value. Allocates nothing for a valid value. */
type FindProblem = (value: unknown) => Problem | undefined;

/**
 * Compiles a schema to a function that finds the first problem of a value. It composes closures and
 * generates no code, so it also runs where a content security policy or an edge runtime forbids `eval`.
 *
 * Throws a TypeError for a keyword that would not be checked; `place` is its path in the schema.
 */
export function compileSchema(schema: Schema, place = "schema"): FindProblem {
  rejectUnknown(schema, place);
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

/** The keywords that each type allows. */
const KEYWORDS: Readonly<Record<NonNullable<Schema["type"]>, readonly string[]>> = {
  object: ["required", "properties"],
  array: ["items", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern", "mismatch"],
  integer: ["minimum", "maximum"],
  number: ["minimum", "maximum"],
  boolean: [],
};

function rejectUnknown(schema: Schema, place: string): void {
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
  throw new TypeError(`${place}.${unknown} is not supported: the type ${type} allows ${known}`);
}

/** A problem of the value itself. */
function problemHere(text: string): Problem {
  return { path: [], text };
}

/** A problem of a property or an item, from the perspective of its parent. */
function problemAt(step: string | number, { path, text }: Problem): Problem {
  return { path: [step, ...path], text };
}

const NOT_A_BOOLEAN = problemHere("must be a boolean");

function booleanProblem(value: unknown): Problem | undefined {
  return typeof value === "boolean" ? undefined : NOT_A_BOOLEAN;
}

function enumProblem(choices: readonly unknown[]): FindProblem {
  const other = problemHere(`must be one of ${choices.join(", ")}`);
  return (value) => (choices.includes(value) ? undefined : other);
}

function constProblem(only: unknown): FindProblem {
  const other = problemHere(`must be ${JSON.stringify(only)}`);
  return (value) => (value === only ? undefined : other);
}

/** A compiled list schema. */
interface ListRules extends Pick<ListSchema, "minItems" | "maxItems"> {
  readonly findInItem: FindProblem | undefined;
}

const NOT_AN_ARRAY = problemHere("must be an array");

/** Checks the items before their number, because an error in an item says more. */
function listProblem({ findInItem, minItems = 0, maxItems = Infinity }: ListRules): FindProblem {
  const tooFew = problemHere(
    minItems === 1 ? "must not be empty" : `must not have fewer than ${minItems} items`,
  );
  const tooMany = problemHere(`must not have more than ${maxItems} items`);
  return (value) => {
    if (!Array.isArray(value)) return NOT_AN_ARRAY;
    if (findInItem !== undefined) {
      const items: readonly unknown[] = value;
      for (let place = 0; place < items.length; place++) {
        const problem = findInItem(items[place]);
        // A hole is not an item. JSON has no holes, but values from this process may.
        if (problem !== undefined && Object.hasOwn(items, place)) return problemAt(place, problem);
      }
    }
    if (value.length < minItems) return tooFew;
    return value.length > maxItems ? tooMany : undefined;
  };
}

const NOT_A_NUMBER = problemHere("must be a number");

const NOT_AN_INTEGER = problemHere("must be an integer");

/** Infinity and NaN are not numbers here: JSON has neither. */
function numberProblem(schema: NumberSchema): FindProblem {
  const { type, minimum = -Infinity, maximum = Infinity } = schema;
  const isInteger = type === "integer";
  const tooSmall = problemHere(`must be >= ${minimum}`);
  const tooLarge = problemHere(`must be <= ${maximum}`);
  return (value) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      return isInteger ? NOT_AN_INTEGER : NOT_A_NUMBER;
    }
    if (isInteger && !Number.isInteger(value)) return NOT_AN_INTEGER;
    if (value < minimum) return tooSmall;
    return value > maximum ? tooLarge : undefined;
  };
}

/** A compiled object schema. */
interface ObjectRules {
  readonly required: readonly string[];
  readonly properties: readonly (readonly [name: string, findProblem: FindProblem])[];
}

const MISSING = problemHere("is required");

const NOT_AN_OBJECT = problemHere("must be an object");

/**
 * Only own properties count; otherwise every object would have a `constructor`. An optional
 * property that is `undefined` is absent, a required one is not.
 */
function objectProblem({ required, properties }: ObjectRules): FindProblem {
  const rules = properties.map(([name, findProblem]) => ({
    name,
    findProblem,
    isRequired: required.includes(name),
  }));
  return (value) => {
    if (!isObject(value)) return NOT_AN_OBJECT;
    for (const name of required) {
      if (!Object.hasOwn(value, name)) return problemAt(name, MISSING);
    }
    for (const { name, findProblem, isRequired } of rules) {
      const given = value[name];
      if (given === undefined && !isRequired) continue;
      const problem = findProblem(given);
      // Checked last, so that only invalid values pay for it.
      if (problem !== undefined && Object.hasOwn(value, name)) return problemAt(name, problem);
    }
    return undefined;
  };
}

const NOT_A_STRING = problemHere("must be a string");

function textProblem(schema: TextSchema): FindProblem {
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const { mismatch = `must match pattern "${pattern}"` } = schema;
  const tooShort = problemHere(
    minLength === 1 ? "must not be empty" : `must not have fewer than ${minLength} characters`,
  );
  const tooLong = problemHere(`must not have more than ${maxLength} characters`);
  const unlike = problemHere(mismatch);
  const expression = pattern === undefined ? undefined : new RegExp(pattern, "u");
  return (value) => {
    if (typeof value !== "string") return NOT_A_STRING;
    if (!isAtLeast(value, minLength)) return tooShort;
    if (!isAtMost(value, maxLength)) return tooLong;
    return expression === undefined || expression.test(value) ? undefined : unlike;
  };
}

// A string has at most as many code points as code units and at least half as many, so usually its
// length decides without counting.

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
