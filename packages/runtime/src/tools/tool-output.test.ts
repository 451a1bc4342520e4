import { expect, test } from "vitest";
import { ToolOutput, boundedOutput } from "./tool-output.ts";

test("output within the limit is kept unchanged", () => {
  const output = new ToolOutput(100);
  expect([output.add("one "), output.add("two")]).toEqual(["one ", "two"]);

  expect(output.text()).toBe("one two");
});

test("of a long output the beginning and the end are kept, and the rest is counted", () => {
  const output = new ToolOutput(8);
  const shown = "abcdefghijklmnop".split("").map((letter) => output.add(letter));

  expect(shown.join("")).toBe("abcdef");
  expect(output.text()).toBe("abcdef\n[truncated: 8 characters]\nop");
});

test("one long chunk is truncated in the same way", () => {
  const output = new ToolOutput(8);
  output.add("abcdefghijklmnop");

  expect(output.text()).toBe("abcdef\n[truncated: 8 characters]\nop");
});

test("a value is JSON, or its beginning and end; a value without JSON is an error", () => {
  expect(boundedOutput({ at: new Date(0) }, 100)).toEqual({ at: "1970-01-01T00:00:00.000Z" });
  expect(boundedOutput(undefined, 100)).toBeNull();
  expect(boundedOutput("x".repeat(50), 8)).toBe("xxxxxx\n[truncated: 42 characters]\nxx");
  expect(() => boundedOutput(() => 1, 100)).toThrow("it has no JSON");
});
