import { describe, expect, test } from "vitest";
import { argumentSchema, boundedSchema } from "./argument-schema.ts";

const FIELD = "inputSchema";

describe("a caller's schema", () => {
  test("is reduced to what can be checked in bounded time", () => {
    const schema = {
      type: "object",
      $defs: { a: { $ref: "#/$defs/a" } },
      properties: {
        name: { type: "string", pattern: "^(a+)+$", minLength: 1, description: "A name." },
        // The name of a property, not a keyword.
        pattern: { enum: ["a", "b"] },
        size: { oneOf: [{ type: "integer", minimum: 1 }, { $ref: "#/$defs/a" }] },
        tags: { type: "array", items: { type: "string", format: "uri" }, uniqueItems: true },
      },
      required: ["name"],
      additionalProperties: false,
      not: { required: ["size", "tags"] },
    };

    expect(argumentSchema(schema, FIELD)).toEqual({
      type: "object",
      properties: {
        name: { type: "string", minLength: 1 },
        pattern: { enum: ["a", "b"] },
        size: { allOf: [{ anyOf: [{ type: "integer", minimum: 1 }, {}] }] },
        tags: { type: "array", items: { type: "string" } },
      },
      required: ["name"],
      additionalProperties: false,
    });
  });

  test("of any value is bounded in the same way", () => {
    expect(boundedSchema({ type: "string", pattern: "^(a+)+$", maxLength: 9 }, FIELD)).toEqual({
      type: "string",
      maxLength: 9,
    });
    expect(boundedSchema(true, FIELD)).toBe(true);
    expect(() => boundedSchema("text", FIELD)).toThrow("inputSchema must be a JSON Schema");
  });

  test("that allows properties by a pattern rejects none for their names", () => {
    const schema = { patternProperties: { "^x-": {} }, additionalProperties: false };

    expect(argumentSchema(schema, FIELD)).toEqual({});
  });

  test.each([
    [{ type: "string" }, 'inputSchema.type must be "object"'],
    [{ properties: [] }, "inputSchema.properties must be an object of schemas"],
    [{ properties: { a: 5 } }, 'inputSchema.properties["a"] must be a JSON Schema'],
    [{ properties: { a: { type: "text" } } }, 'properties["a"].type must be one of object, array'],
    [{ properties: { a: { minimum: "1" } } }, 'properties["a"].minimum must be a number'],
    [{ properties: { a: { enum: [] } } }, 'properties["a"].enum must be a list of values'],
    [{ anyOf: {} }, "inputSchema.anyOf must be a list of schemas"],
    [{ required: [1] }, "inputSchema.required must be a list of names"],
  ])("that is invalid is rejected with the path: %j", (schema, problem) => {
    expect(() => argumentSchema(schema, FIELD)).toThrow(problem);
  });

  test("may be neither too deep nor too large", () => {
    let deep: object = { type: "string" };
    for (let level = 0; level < 40; level++) deep = { items: deep };
    const large = { anyOf: Array.from({ length: 5000 }, () => ({})) };

    expect(() => argumentSchema({ properties: { a: deep } }, FIELD)).toThrow(
      "is nested deeper than 32 levels",
    );
    expect(() => argumentSchema(large, FIELD)).toThrow("is one schema more than 4096");
  });
});
