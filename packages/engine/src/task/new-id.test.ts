import { expect, test } from "vitest";
import { newId } from "./new-id.ts";

/** RFC 9562: version 7 and the variant bits are at fixed positions. */
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("an id is a UUID of version 7", () => {
  // More than one draw of random bytes.
  for (let count = 0; count < 2000; count++) expect(newId()).toMatch(UUID_V7);
});

test("an id starts with its time in milliseconds", () => {
  const now = Date.UTC(2026, 0, 31, 12);

  const time = newId(now).replaceAll("-", "").slice(0, 12);

  expect(Number.parseInt(time, 16)).toBe(now);
});

test("ids of later milliseconds sort later", () => {
  const start = Date.UTC(2026, 0, 31);
  const ids = Array.from({ length: 1000 }, (_, tick) => newId(start + tick));

  expect(ids.toSorted()).toEqual(ids);
});

test("ids of one millisecond are all different, and sort in the order of creation", () => {
  const ids = Array.from({ length: 20_000 }, () => newId(1_700_000_000_000));

  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

test("a clock that is set back a little does not change the order", () => {
  const start = Date.UTC(2026, 1, 1);
  const ids = [start, start - 5000, start - 1, start + 1].map((now) => newId(now));

  expect(ids.toSorted()).toEqual(ids);
});
