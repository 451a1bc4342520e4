import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeBase64Url, encodeBase64Url } from "./base64url.ts";

test("bytes survive a round trip", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = encodeBase64Url(bytes);

      expect(text).toBe(Buffer.from(bytes).toString("base64url"));
      expect([...(decodeBase64Url(text) ?? [])]).toEqual([...bytes]);
    }),
  );
});

test.each(["A", "AA==", "A+8", "A/8", "AA\n", " AA", "AB", "AAB", "é"])(
  "%j was not encoded here",
  (text) => {
    expect(decodeBase64Url(text)).toBeUndefined();
  },
);
