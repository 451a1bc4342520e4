import { expect, test } from "vitest";
import { retryAfterOf } from "./call-error.ts";

const NOW = Date.parse("2026-01-31T12:00:00Z");

test.each([
  [{ "retry-after-ms": "1500", "retry-after": "9" }, 1_500],
  [{ "retry-after": "2" }, 2_000],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "Sat, 31 Jan 2026 12:00:05 GMT" }, 5_000],
  [{ "retry-after": "Sat, 31 Jan 2026 11:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("the headers %j say when to come back", (responseHeaders, expected) => {
  expect(retryAfterOf({ responseHeaders }, NOW)).toBe(expected);
});

test("Google says it in the body", () => {
  const data = { error: { details: [{ "@type": "Help" }, { retryDelay: "34.5s" }] } };

  expect(retryAfterOf({ data }, NOW)).toBe(34_500);
});

test("what is no error of a provider says nothing", () => {
  expect(retryAfterOf("broken", NOW)).toBeUndefined();
});
