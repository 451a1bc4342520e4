import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineText, textWidth, toAnsi } from "./cells.ts";
import { renderMarkdown, splitMarkdown } from "./markdown.ts";

const rendered = (text: string, width = 40) => renderMarkdown(text, width).map(lineText);
const coloured = (text: string) => renderMarkdown(text, 80).map((line) => toAnsi(line, true));

describe("Markdown on a screen", () => {
  test("has headings, lists, quotes, rules and tables", () => {
    const text = `# Plan
Read *all* of it.

1. First, which is longer than one line can be
2. Second
   - inner
     goes on
* last

> quoted

---
| a | b |
|---|---|`;

    expect(rendered(text, 30)).toEqual([
      "Plan",
      "",
      "Read all of it.",
      "",
      "1. First, which is longer than",
      "   one line can be",
      "2. Second",
      "   • inner goes on",
      "• last",
      "",
      "│ quoted",
      "",
      "──────────────────────────────",
      "| a | b |",
      "|---|---|",
    ]);
  });

  test("has code as it is written, even if the block is not closed yet", () => {
    const code = "```ts\nif (a) {\n  **b**;\n\n}\n```\nAfter it.";

    expect(rendered(code)).toEqual(["  if (a) {", "    **b**;", "  ", "  }", "", "After it."]);
    expect(rendered("   ~~~\n   x\n     y")).toEqual(["  x", "    y"]);
  });

  test.each([
    ["**bold** and __bold__", "\u001B[1mbold\u001B[22m and \u001B[1mbold\u001B[22m"],
    ["*it* and _it_", "\u001B[3mit\u001B[23m and \u001B[3mit\u001B[23m"],
    ["`code`", "\u001B[36mcode\u001B[39m"],
    ["~~gone~~", "\u001B[9mgone\u001B[29m"],
    ["**a `b` c**", "\u001B[1ma \u001B[22m\u001B[1;36mb\u001B[22;39m\u001B[1m c\u001B[22m"],
    ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
    ["**not closed", "**not closed"],
    [String.raw`\*escaped\*`, "*escaped*"],
  ])("%s is styled", (text, styled) => {
    expect(coloured(text)).toEqual([styled]);
  });

  test("a link shows where it leads, so that its text cannot deceive", () => {
    expect(rendered("[your bank](https://evil.example)")).toEqual([
      "your bank (https://evil.example)",
    ]);
    expect(rendered("<https://a.example/b>")).toEqual(["https://a.example/b"]);
  });
});

/** Text as agents write it: words, and everything that could be markup. */
const PIECES = fc.array(
  fc.oneof(
    fc.constantFrom("\n", "\n\n", " ", "- ", "1. ", "# ", "> ", "```\n", "~~~\n", "| "),
    fc.constantFrom("**", "*", "_", "`", "~~", "[a](b)", "---\n", "\t", "\r\n"),
    fc.stringMatching(/^[a-z0-9äö日本🎉]{1,12}$/u),
  ),
  { maxLength: 40 },
);

test("every word of the source is on the screen, and no line is too wide", () => {
  fc.assert(
    fc.property(PIECES, fc.integer({ min: 20, max: 60 }), (pieces, width) => {
      const source = pieces.join("");
      const lines = rendered(source, width);
      const text = lines.join("").replaceAll(/[\s│]/g, "");
      const words =
        source.replaceAll(/^[ \t]*(?:```|~~~).*$/gm, "").match(/[\p{L}\p{N}🎉]+/gu) ?? [];
      let from = 0;
      for (const word of words) {
        const place = text.indexOf(word, from);
        expect(place, `${word} of ${JSON.stringify(source)}`).toBeGreaterThanOrEqual(from);
        from = place + word.length;
      }
      expect(lines.filter((line) => textWidth(line) > width)).toEqual([]);
    }),
  );
});

test("nothing that an agent writes controls the terminal", () => {
  const hostile = fc.array(
    fc.oneof(
      fc.constantFrom("\u001B[2J", "\u001B]0;x\u0007", "\u009B31m", "\u202E", "\r", "`", "\n"),
      fc.string({ unit: "binary" }),
    ),
  );
  fc.assert(
    fc.property(hostile, (pieces) => {
      const plain = renderMarkdown(pieces.join(""), 40).map((line) => toAnsi(line, false));

      expect(plain.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test("the blocks do not depend on the pieces in which the text arrives", () => {
  fc.assert(
    fc.property(PIECES, (pieces) => {
      const source = pieces.join("");
      const done: string[] = [];
      let rest = "";
      for (const piece of pieces) {
        const split = splitMarkdown(rest + piece);
        done.push(...split.done);
        rest = split.rest;
      }

      expect({ done, rest: rest.trim() }).toEqual({
        ...splitMarkdown(source),
        rest: splitMarkdown(source).rest.trim(),
      });
    }),
  );
});

test("markup that never ends is read in linear time", () => {
  const text = "**a *b _c `d ~~e [f](".repeat(3600);
  const started = performance.now();

  renderMarkdown(text, 80);

  expect(performance.now() - started).toBeLessThan(20_000);
});
