import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cursor, formatCursor, parseCursor } from "./cursor.ts";

const aNumber = fc.nat({ max: 999_999_999_999_999 });

const aCursor: fc.Arbitrary<Cursor> = fc.record(
  { seq: aNumber, epoch: aNumber, shown: fc.nat({ max: 9999 }) },
  { requiredKeys: ["seq"] },
);

describe("a cursor", () => {
  test("is read as it was written, and fits into a header and into the limit of the extension", () => {
    fc.assert(
      fc.property(aCursor, (cursor) => {
        const text = formatCursor(cursor);
        expect(parseCursor(text)).toEqual(cursor);
        expect(text).toMatch(/^[!-~]{1,64}$/);
      }),
    );
  });

  test("has one text: what is read and written again is the same, except for leading zeros", () => {
    const aText = fc.stringMatching(/^[0-9.+]{1,12}$/);
    fc.assert(
      fc.property(aText, (text) => {
        const cursor = parseCursor(text);
        if (cursor === undefined) return;
        expect(formatCursor(cursor)).toBe(text.replaceAll(/(?<=^|[.+])0+(?=\d)/g, ""));
      }),
    );
  });

  test("may be a sequence alone, as in a storage that one process has for itself", () => {
    expect(parseCursor("7")).toEqual({ seq: 7 });
    expect(parseCursor("007")).toEqual({ seq: 7 });
  });

  for (const text of [
    "9999999999999999",
    "-1",
    "+1",
    "1.",
    "1.2.3",
    "1+2.3",
    "1+12345",
    "1e0",
    "0x1",
    " 1",
    "1 ",
    "1,2",
    "abc",
    "",
    "١",
  ]) {
    test(`is not ${JSON.stringify(text)}`, () => {
      expect(parseCursor(text)).toBeUndefined();
    });
  }
});
