import { expect, test } from "vitest";
import { parseRetryDelay, redacted } from "./call-error.ts";

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

test("endless text is truncated", () => {
  expect(redacted("x".repeat(10_000), [])).toHaveLength(500);
});

const NOW = Date.parse("2026-01-31T12:00:00Z");

test.each([
  [{ "retry-after-ms": "1500", "retry-after": "9" }, 1_500],
  [{ "retry-after": "2" }, 2_000],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "Sat, 31 Jan 2026 12:00:05 GMT" }, 5_000],
  [{ "retry-after": "Sat, 31 Jan 2026 11:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("the headers %j say when to retry", (responseHeaders, expected) => {
  expect(parseRetryDelay({ responseHeaders }, NOW)).toBe(expected);
});

test("Google has it in the body", () => {
  const data = { error: { details: [{ "@type": "Help" }, { retryDelay: "34.5s" }] } };

  expect(parseRetryDelay({ data }, NOW)).toBe(34_500);
});

test("an error that is not from a provider has no retry time", () => {
  expect(parseRetryDelay("broken", NOW)).toBeUndefined();
});
