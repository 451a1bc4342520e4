import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeText, encodeText, viewableType } from "./text-file.ts";

test("every text is written back byte by byte as it was read", () => {
  const line = fc.constantFrom("", "a", "ü", "\uFEFF", "\n", "\r\n", "\r", "x\n", "y\r\n");

  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const bytes = Buffer.from(lines.join(""));
      const file = decodeText(bytes)!;

      expect(encodeText(file.text, file.format)).toEqual(bytes);
    }),
  );
});

test("a new line gets the line ending of the file", () => {
  const { text, format } = decodeText(Buffer.from("one\r\ntwo\r\n"))!;

  expect(text).toBe("one\ntwo\n");
  expect(encodeText(`${text}three\n`, format).toString()).toBe("one\r\ntwo\r\nthree\r\n");
});

test("bytes that are not UTF-8 text are no text", () => {
  expect(decodeText(Buffer.from([0xff, 0xfe, 0x41, 0x00]))).toBeUndefined();
  expect(decodeText(Buffer.from([0xe9]))).toBeUndefined();
  expect(decodeText(Buffer.from("a\0b"))).toBeUndefined();
});

test("images and documents are recognized by their first bytes", () => {
  expect(viewableType(Buffer.from("%PDF-1.7"))).toBe("application/pdf");
  expect(viewableType(Buffer.from("RIFF\0\0\0\0WEBPVP8", "latin1"))).toBe("image/webp");
  expect(viewableType(Buffer.from("RIFF\0\0\0\0WAVE", "latin1"))).toBeUndefined();
  expect(viewableType(Buffer.from("text"))).toBeUndefined();
});
