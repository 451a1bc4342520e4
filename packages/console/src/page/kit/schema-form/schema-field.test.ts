import { describe, expect, test } from "vitest";
import { fieldFor, fieldForValue, findProblems, initialValue } from "./schema-field.ts";

const ORDER = {
  type: "object",
  required: ["size", "count", "address"],
  properties: {
    size: { enum: ["small", "large"], title: "Size" },
    count: { type: "integer", minimum: 1, maximum: 9 },
    gift: { type: "boolean", description: "Wrap it." },
    note: { type: ["string", "null"], maxLength: 10 },
    tags: { type: "array", items: { type: "string" }, maxItems: 2 },
    address: {
      type: "object",
      required: ["street"],
      properties: { street: { type: "string", minLength: 2 } },
    },
    extra: { $ref: "#/definitions/extra" },
  },
};

describe("a form for a JSON schema", () => {
  test("has a field for each property, and JSON for what it does not understand", () => {
    const form = fieldFor(ORDER);
    const fields = form.kind === "group" ? form.fields : [];

    expect(fields.map(([name, { kind }]) => [name, kind])).toEqual([
      ["size", "choice"],
      ["count", "number"],
      ["gift", "flag"],
      ["note", "text"],
      ["tags", "list"],
      ["address", "group"],
      ["extra", "json"],
    ]);
    expect(fields[0]![1]).toMatchObject({ label: "Size", options: ["small", "large"] });
    expect(fields[3]![1]).toMatchObject({ isNullable: true, isRequired: false });
  });

  test("names each field that is missing or does not fit", () => {
    const value = {
      count: 12,
      note: "far too long a note",
      tags: ["a", "b", "c"],
      address: { street: "x" },
    };

    expect(findProblems(fieldFor(ORDER), value)).toEqual([
      { path: ["size"], text: "Fill in this field." },
      { path: ["count"], text: "Use at most 9." },
      { path: ["note"], text: "Use at most 10 characters." },
      { path: ["tags"], text: "Use at most 2 lines." },
      { path: ["address", "street"], text: "Use at least 2 characters." },
    ]);
  });

  test("accepts a value that fits, with null and absent fields where they may be", () => {
    const value = { size: "small", count: 3, note: null, address: { street: "Elm" } };

    expect(findProblems(fieldFor(ORDER), value)).toEqual([]);
    expect(findProblems(fieldFor({ type: "integer" }), 1.5)).toEqual([
      { path: [], text: "Enter a whole number." },
    ]);
  });

  test.each([
    { anyOf: [{ type: "null" }, { type: "number" }] },
    { oneOf: [{ type: "number" }, { type: "null" }] },
    { type: ["null", "number"] },
  ])("reads %j as a number that may be left empty", (schema) => {
    expect(fieldFor(schema)).toMatchObject({ kind: "number", isNullable: true });
  });

  test("of a value has the fields of that value", () => {
    expect(fieldForValue({ to: "a", text: "a\nb", count: 1, on: true, list: [1] })).toMatchObject({
      kind: "group",
      fields: [
        ["to", { kind: "text", isLong: false }],
        ["text", { kind: "text", isLong: true }],
        ["count", { kind: "number" }],
        ["on", { kind: "flag" }],
        ["list", { kind: "json" }],
      ],
    });
  });

  test("begins with what a check box means when nobody touches it", () => {
    const schema = { type: "object", required: ["on"], properties: { on: { type: "boolean" } } };

    expect(initialValue(fieldFor(schema))).toEqual({ on: false });
  });
});
