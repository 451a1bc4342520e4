import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineText, span, textWidth, toAnsi } from "./cells.ts";
import { clip, wrap } from "./wrap.ts";

const wrapped = (text: string, width: number) => wrap([span(text)], width).map(lineText);

describe("the width of a text", () => {
  test.each([
    ["abc", 3],
    ["日本", 4],
    ["é", 1],
    ["e\u0301", 1],
    ["🎉", 2],
    ["❤\uFE0F", 2],
    ["🇩🇪", 2],
    ["ｆｕ", 4],
    ["한국", 4],
    ["→…─", 3],
  ])("%s is %i columns", (text, columns) => {
    expect(textWidth(text)).toBe(columns);
  });
});

describe("wrapping", () => {
  test("breaks at spaces, and inside a word only if it is wider than a line", () => {
    expect(wrapped("the quick brown fox", 10)).toEqual(["the quick", "brown fox"]);
    expect(wrapped("a incomprehensibilities", 10)).toEqual(["a", "incomprehe", "nsibilitie", "s"]);
  });

  test("breaks between wide characters, which have no spaces", () => {
    expect(wrapped("日本語のテキスト", 9)).toEqual(["日本語の", "テキスト"]);
  });

  test("continues a list item below its text, and a word across styles stays whole", () => {
    const text = [span("one tw"), span("o", "bold"), span(" three")];
    const lines = wrap(text, 12, { first: [span("1. ")] });

    expect(lines.map(lineText)).toEqual(["1. one two", "   three"]);
    expect(toAnsi(lines[0] ?? [], true)).toBe("1. one tw\u001B[1mo\u001B[22m");
  });

  test("keeps the spaces of code", () => {
    const lines = wrap([span("  if (a)   b();")], 10, { isCode: true });

    expect(lines.map(lineText)).toEqual(["  if (a)  ", " b();"]);
  });

  test("loses nothing but spaces, and no line is too wide", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 8, max: 40 }),
        (raw, width) => {
          const text = raw.replaceAll(/[\p{C}\p{Z}]/gu, " ");
          const lines = wrapped(text, width);

          expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
          expect(lines.every((line) => textWidth(line) <= width)).toBe(true);
        },
      ),
    );
  });
});

test("a clipped line says that something is missing", () => {
  expect(lineText(clip([span("short")], 5))).toBe("short");
  expect(lineText(clip([span("日本語"), span("text", "bold")], 6))).toBe("日本…");
});
