import type { ElicitRequestParams } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { elicitationAnswer, elicitationInterrupt } from "./elicitation.ts";

function aForm(
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
): ElicitRequestParams {
  const requestedSchema = { type: "object", properties, required };
  return { mode: "form", message: "Please.", requestedSchema } as unknown as ElicitRequestParams;
}

async function answered(form: ElicitRequestParams, text: string): Promise<unknown> {
  const answer = await elicitationAnswer(form, { text, parts: [] });
  return answer.ok ? (answer.result.content ?? answer.result.action) : answer.problem;
}

describe("an answer in plain text", () => {
  test.each([
    ["a text", { type: "string" }, "Ann", "Ann"],
    ["a number", { type: "number" }, " 4.5 ", 4.5],
    ["a whole number", { type: "integer" }, "7", 7],
    ["a yes", { type: "boolean" }, "Yes", true],
    ["a no", { type: "boolean" }, "no", false],
    ["a choice", { type: "string", enum: ["red", "blue"] }, "Blue", "blue"],
    [
      "a choice by its title",
      { type: "string", oneOf: [{ const: "r", title: "Red" }] },
      "red",
      "r",
    ],
    ["an old choice by its name", { type: "string", enum: ["r"], enumNames: ["Red"] }, "Red", "r"],
    ["several", { type: "array", items: { enum: ["a", "b", "c"] } }, "A, c", ["a", "c"]],
  ])("fills the only field with %s", async (_, schema, text, value) => {
    expect(await answered(aForm({ it: schema }), text)).toEqual({ it: value });
  });

  test("fills the only required field", async () => {
    const form = aForm({ name: { type: "string" }, age: { type: "number" } }, ["name"]);

    expect(await answered(form, "Ann")).toEqual({ name: "Ann" });
  });

  test("is not guessed if it could mean several fields", async () => {
    const form = aForm({ name: { type: "string" }, town: { type: "string" } });

    expect(await answered(form, "Ann")).toBe(
      "The answer must be JSON with the fields that are asked for.",
    );
  });

  test("that does not match is rejected with the field", async () => {
    expect(await answered(aForm({ age: { type: "number" } }), "old")).toMatch(
      /does not fit: age: /,
    );
  });
});

test("a form's pattern is left to the server, because it could block us", async () => {
  const text = `${"a".repeat(26)}!`;

  expect(await answered(aForm({ it: { type: "string", pattern: "^(a+)+$" } }), text)).toEqual({
    it: text,
  });
});

describe("an answer in JSON", () => {
  const form = aForm({ name: { type: "string" } }, ["name"]);

  test.each([
    ['{"name": "Ann"}', { name: "Ann" }],
    ['{"action": "accept", "content": {"name": "Ann"}}', { name: "Ann" }],
    ['{"action": "decline"}', "decline"],
    ["cancel", "cancel"],
  ])("%s is understood", async (text, result) => {
    expect(await answered(form, text)).toEqual(result);
  });

  test("may also look like an action without being one", async () => {
    const own = aForm({ action: { type: "string", enum: ["stay"] } });

    expect(await answered(own, '{"action": "stay"}')).toEqual({ action: "stay" });
  });
});

describe("a question", () => {
  test("has the same id if it is the same, and another if it is not", () => {
    const [form, other] = [aForm({ a: { type: "string" } }), aForm({ b: { type: "string" } })];
    const idOf = (params: ElicitRequestParams, place: number): string =>
      elicitationInterrupt("files", params, place).requestId;

    expect(idOf(form, 1)).toBe(idOf(structuredClone(form), 1));
    expect(new Set([idOf(form, 1), idOf(form, 2), idOf(other, 1)]).size).toBe(3);
  });

  test("shows no URL that could run code", () => {
    const interrupt = elicitationInterrupt(
      "files",
      { mode: "url", message: "Go there.", url: "javascript:alert(1)", elicitationId: "1" },
      1,
    );

    expect(interrupt).not.toHaveProperty("url");
  });
});
