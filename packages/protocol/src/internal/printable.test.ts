import { describe, expect, test } from "vitest";
import { oneLine, printable, printableJson, splitHidden } from "./printable.ts";

describe.each([
  ["ESC", "\u001B"],
  ["a C1 control", "\u009B"],
  ["a right-to-left override", "\u202E"],
  ["an isolate", "\u2066"],
  ["an Arabic letter mark", "\u061C"],
  ["a zero-width space", "\u200B"],
  ["a zero-width joiner", "\u200D"],
  ["a word joiner", "\u2060"],
  ["a byte order mark", "\uFEFF"],
  ["a soft hyphen", "\u00AD"],
  ["a tag", "\u{E0041}"],
  ["a filler", "\u3164"],
])("%s", (_, character) => {
  test("does not reach a terminal", () => {
    const text = `pay${character}load.exe`;

    expect(printable(text)).toBe("payload.exe");
    expect(oneLine(text).replaceAll(" ", "")).toBe("payload.exe");
  });

  test("is a piece of its own for a page that marks it", () => {
    expect(splitHidden(`pay${character}load.exe`)).toEqual(["pay", character, "load.exe"]);
  });

  test("is escaped in JSON, with the same meaning", () => {
    const value = { name: `a${character}b` };

    const json = printableJson(value);

    expect(json).toMatch(/^[\u0020-\u007E]+$/);
    expect(JSON.parse(json)).toEqual(value);
  });
});

test("text in any script, line feeds and tabs are kept", () => {
  const text = "grüß\tdich 👋 שלום مرحبا\nこんにちは e\u0301 ❤\uFE0F";

  expect(printable(text)).toBe(text);
});
