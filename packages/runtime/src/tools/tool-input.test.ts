import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { jsonSchemaCheck } from "./tool-input.ts";

const NAMED = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string" }, color: { enum: ["red", "blue"] } },
} as const;

test("valid arguments are passed on unchanged", async () => {
  const input = { name: "Ann", more: [1] };

  expect(await jsonSchemaCheck(NAMED)(input)).toEqual({ ok: true, input });
});

test("every problem names the argument and the fix", async () => {
  expect(await jsonSchemaCheck(NAMED)({ color: "green" })).toEqual({
    ok: false,
    problems: ["name: is required", "color: must be one of red, blue"],
  });
});

test("concurrent calls are validated alike, including the first ones", async () => {
  const check = jsonSchemaCheck(NAMED);

  const checked = await Promise.all([check({ name: "Ann" }), check({}), check({ name: "Bob" })]);

  expect(checked.map(({ ok }) => ok)).toEqual([true, false, true]);
});

test("an unreadable schema is rejected by each call, and not earlier", async () => {
  const check = jsonSchemaCheck({ type: "object", properties: { a: { pattern: "(" } } });

  await expect(check({ a: "x" })).rejects.toThrow("Invalid regular expression");
  await expect(check({ a: "x" })).rejects.toThrow("Invalid regular expression");
});

test("a process loads the schema compiler when a tool is called, and not when it starts", async () => {
  const program = `
    import { registerHooks } from "node:module";
    let compilers = 0;
    registerHooks({
      load(url, context, next) {
        if (url.includes("/typebox/")) compilers += 1;
        return next(url, context);
      },
    });
    const { tool } = await import("@convoke/runtime");
    const greet = tool({ name: "greet", description: "Greets.", run: () => "hello" });
    const atStart = compilers;
    const checked = await greet.check({});
    console.log(JSON.stringify({ atStart, checked, isLoaded: compilers > 0 }));
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@convoke/source", "--input-type=module", "--eval", program],
    { cwd: import.meta.dirname },
  );

  expect(JSON.parse(stdout)).toEqual({
    atStart: 0,
    checked: { ok: true, input: {} },
    isLoaded: true,
  });
});
