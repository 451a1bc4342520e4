import fc from "fast-check";
import { expect, test } from "vitest";
import { fromText, toText } from "./text.ts";

const texts = fc.string({ unit: fc.constantFrom("\0", "\u0001", "\u0002", "a", "ß", "😀") });

test("a stored text has no NUL, and is the same text when it is read", () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(toText(text)).not.toContain("\0");
      expect(fromText(toText(text))).toBe(text);
    }),
  );
});

test("stored texts sort by their bytes as the originals do", () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const stored = Buffer.compare(Buffer.from(toText(one)), Buffer.from(toText(other)));
      expect(stored).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)));
    }),
  );
});
