import { booleanProblem } from "./boolean-problem.ts";
import { constProblem, enumProblem } from "./choice-problem.ts";
import { listProblem } from "./list-problem.ts";
import { numberProblem } from "./number-problem.ts";
import { objectProblem } from "./object-problem.ts";
import type { FindProblem } from "./problem.ts";
import type { Schema } from "./schema.ts";
import { textProblem } from "./text-problem.ts";

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
