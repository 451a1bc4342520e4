import fc from "fast-check";
import { expect, test } from "vitest";
import { readBase64 } from "./values.ts";

test("every encoding of the same bytes becomes one", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const standard = Buffer.from(bytes).toString("base64");
      const spellings = [
        standard,
        standard.replace(/=+$/, ""),
        Buffer.from(bytes).toString("base64url"),
      ];

      for (const spelling of spellings) expect(readBase64(spelling, "f")).toBe(standard);
    }),
  );
  expect(readBase64("AB==", "f")).toBe("AA==");
  expect(readBase64("AAB=", "f")).toBe("AAA=");
});

test.each(["***", "A", "AAAAA", "a b", "é", "AA=A", "====", "\n"])(
  "%j is rejected by name",
  (value) => {
    expect(() => readBase64(value, "file.bytes")).toThrow("file.bytes must be base64");
  },
);
