import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { compileSchema } from "./compile-schema.ts";
import type { Schema } from "./schema.ts";

/** A schema that the types would reject. */
function unchecked(schema: object): Schema {
  return schema as Schema;
}

describe("a schema that could not be checked completely is rejected", () => {
  test.each([
    ["an unknown keyword", { type: "string", format: "uri" }, "schema.format"],
    ["one of another type", { type: "object", minLength: 1 }, "schema.minLength"],
    ["one beside a boolean", { type: "boolean", enum: [true] }, "schema.enum"],
    ["a type beside an enum", { type: "string", enum: ["a"] }, "schema.enum"],
    ["unknown properties", { type: "object", additionalProperties: false }, "additionalProperties"],
    ["several types", { type: ["string", "null"] }, "schema.type"],
    ["a list of one type", { type: ["string"] }, "schema.type"],
    ["a type that does not exist", { type: "text" }, "schema.type"],
    ["one that every object inherits", { type: "constructor" }, "schema.type"],
    ["a choice of schemas", { anyOf: [{ type: "string" }] }, "anyOf"],
    ["a bound without a type", { minimum: 0 }, "minimum"],
    ["an enum with a const", { enum: ["a"], const: "a" }, "enum, const"],
    ["nothing", {}, "nothing"],
  ])("%s", (_, schema, name) => {
    expect(() => compileSchema(unchecked(schema))).toThrow(TypeError);
    expect(() => compileSchema(unchecked(schema))).toThrow(name);
  });

  test("with its path, at any depth", () => {
    const name = unchecked({ type: "string", format: "uri" });
    const schema: Schema = {
      type: "object",
      properties: { tools: { type: "array", items: { type: "object", properties: { name } } } },
    };

    expect(() => compileSchema(schema)).toThrow(
      "schema.properties.tools.items.properties.name.format is not supported: " +
        "the type string allows minLength, maxLength, pattern",
    );
  });

  test("already by the TypeScript compiler, if it is a literal", () => {
    // @ts-expect-error a keyword that nobody knows
    const unknown: Schema = { type: "string", format: "uri" };
    // @ts-expect-error a keyword of another type
    const misplaced: Schema = { type: "integer", minItems: 1 };
    // @ts-expect-error an enum says by itself what its values are
    const doubled: Schema = { type: "string", enum: ["a"] };

    for (const schema of [unknown, misplaced, doubled]) {
      expect(() => compileSchema(schema)).toThrow(TypeError);
    }
  });
});

describe("inherited properties do not count", () => {
  const names = ["toString", "valueOf", "hasOwnProperty", "constructor", "__proto__"];

  test.each(names)("%s is missing if it is required", (name) => {
    const findProblem = compileSchema({ type: "object", required: [name] });

    expect(findProblem({})).toEqual({ path: [name], text: "is required" });
    expect(findProblem(JSON.parse(`{ "${name}": "given" }`))).toBeUndefined();
  });

  test.each(names)("%s is optional if it is not required, and checked if it is given", (name) => {
    const properties = Object.fromEntries([[name, { type: "string" } as const]]);
    const findProblem = compileSchema({ type: "object", properties });

    expect(findProblem({})).toBeUndefined();
    expect(findProblem(JSON.parse(`{ "${name}": 5 }`))).toEqual({
      path: [name],
      text: "must be a string",
    });
  });

  test("a property of a prototype is ignored", () => {
    const findProblem = compileSchema({
      type: "object",
      required: ["id"],
      properties: { id: { type: "string" }, name: { type: "string" } },
    });

    expect(findProblem(Object.create({ id: "t1" }))).toEqual({ path: ["id"], text: "is required" });
    expect(findProblem({ __proto__: { name: 5 }, id: "t1" })).toBeUndefined();
  });
});

test("works where code generation from strings is forbidden", async () => {
  const program = `
    import { CODECS } from "@convoke/protocol";
    try {
      CODECS["1.0"].decodeSendMessage({ message: { messageId: "m1", role: "ROLE_USER", parts: [5] } });
    } catch (error) {
      console.log(error.message);
    }
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      "--disallow-code-generation-from-strings",
      "--conditions=@convoke/source",
      "--input-type=module",
      "--eval",
      program,
    ],
    { cwd: import.meta.dirname },
  );

  expect(stdout).toBe("Invalid parameters: message.parts[0] must be an object\n");
});
