import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MAX_EXTENSIONS,
  MAX_URI_LENGTH,
  formatExtensionList,
  parseExtensionList,
} from "./extension-list.ts";

const HEADER = "A2A-Extensions";

/** Anything that a header could have between its commas, short of white space at the ends. */
const uri = fc
  .stringMatching(/^[\x21-\x2b\x2d-\x7e]{1,40}$/)
  .map((text) => text.slice(0, MAX_URI_LENGTH));
const uris = fc.uniqueArray(uri, { maxLength: MAX_EXTENSIONS });
const space = fc.stringMatching(/^[ \t]{0,3}$/);

test("a list is read as it was written, whatever the space and the empty places in it", () => {
  fc.assert(
    fc.property(uris, fc.array(fc.tuple(space, space, fc.boolean())), (given, frills) => {
      const dressed = given.map((one, place) => {
        const [before, after, isGap] = frills[place] ?? ["", "", false];
        return `${before}${one}${after}${isGap ? ", ,," : ""}`;
      });

      expect(parseExtensionList(HEADER, [dressed.join(",")])).toEqual(given);
      expect(parseExtensionList(HEADER, dressed)).toEqual(given);
    }),
  );
});

test("what we write we read", () => {
  fc.assert(
    fc.property(uris, (given) => {
      expect(parseExtensionList(HEADER, [formatExtensionList(given)])).toEqual(given);
    }),
  );
});

test("no value makes it fail in any way but the one that names the header", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3000 }), { maxLength: 5 }), (values) => {
      let read: readonly string[];
      try {
        read = parseExtensionList(HEADER, values);
      } catch (error) {
        expect(error).toMatchObject({ reason: "InvalidParams", field: HEADER });
        return;
      }

      expect(new Set(read).size).toBe(read.length);
      expect(read.length).toBeLessThanOrEqual(MAX_EXTENSIONS);
      for (const one of read) expect(one).toBe(one.trim());
    }),
  );
});

describe("a list that is too much is refused", () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, place) => `urn:extension:${place}`).join(",");

  test("by the number of its extensions, each counted once", () => {
    expect(parseExtensionList(HEADER, [many(MAX_EXTENSIONS), many(3)])).toHaveLength(
      MAX_EXTENSIONS,
    );
    expect(() => parseExtensionList(HEADER, [many(MAX_EXTENSIONS + 1)])).toThrow(
      "A2A-Extensions must not name more than 64 extensions",
    );
  });

  test("by the length of one of them", () => {
    const long = "x".repeat(MAX_URI_LENGTH);

    expect(parseExtensionList(HEADER, [long])).toEqual([long]);
    expect(() => parseExtensionList(HEADER, [`${long}x`])).toThrow(
      "A2A-Extensions must not have a URI of more than 1024 characters",
    );
  });
});
