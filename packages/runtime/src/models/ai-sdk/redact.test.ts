import { expect, test } from "vitest";
import { redacted } from "./call-error.ts";

test.each([
  ["the key my-odd-key is wrong", "the key [key] is wrong"],
  ["Incorrect API key provided: sk-proj-abc***xyz1", "Incorrect API key provided: [key]"],
  ["Bearer abc.def.ghi refused", "Bearer [key] refused"],
  ["AIzaSyD4_abcdefghijk", "[key]"],
  ["see https://me:pw@host/a?code=1 now", "see https://host/a now"],
  ["a task-list of skills", "a task-list of skills"],
])("“%s” is shown as “%s”", (text, shown) => {
  expect(redacted(text, ["my-odd-key", ""])).toBe(shown);
});

test("endless words are cut", () => {
  expect(redacted("x".repeat(10_000), [])).toHaveLength(500);
});
