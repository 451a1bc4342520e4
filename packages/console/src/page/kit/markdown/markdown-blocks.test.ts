import fc from "fast-check";
import { Lexer, type Token } from "marked";
import { describe, expect, test } from "vitest";
import { MarkdownBlocks } from "./markdown-blocks.ts";

const PIECES = [
  ..."# ## *** - + 1. 2) > >> ``` ~~~ --- === | |---| : [a] [a]: [x](y) ![i](j) <b> </div> <!-- -->".split(
    " ",
  ),
  ..."word **bold** _em_ `code` ~~gone~~ \\ & &amp; https://a.example tab\t".split(" "),
  "\n",
  "\n\n",
  "\n    ",
  "  \n",
  "\r\n",
  " ",
];

const documents = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 120 })
  .map((pieces) => pieces.join(""));

describe("the blocks of a Markdown text", () => {
  test("are those of the whole text, in whatever chunks it arrives", () => {
    fc.assert(
      fc.property(documents, fc.array(fc.integer({ min: 1, max: 40 })), (text, lengths) => {
        const blocks = new MarkdownBlocks();
        for (let end = 0, index = 0; end < text.length; index++) {
          end += lengths[index % lengths.length] ?? text.length;
          blocks.update(text.slice(0, end));
        }
        const whole = new Lexer({ gfm: true }).lex(text.replace(/\r$/, ""));

        expect(rawOf(blocks.update(text).map(({ token }) => token))).toEqual(rawOf(whole));
        expect(blocks.finish(text).map(({ token }) => token)).toEqual([...whole]);
      }),
      // An address that is defined in a quotation.
      { numRuns: 400, examples: [[">>[a]:#\n\n[a]\n\n#", []]] },
    );
  });

  test("stay the same objects when more text arrives, so that they are not drawn again", () => {
    const blocks = new MarkdownBlocks();
    const text = "one\n\ntwo\n\nthree\n\nfour\n\n";
    blocks.update(text);
    const [first] = blocks.update(`${text}five`);

    expect(blocks.update(`${text}five and more`)[0]).toBe(first);
    expect(first?.token.raw).toBe("one");
  });

  test("start over when the text was replaced", () => {
    const blocks = new MarkdownBlocks();
    blocks.update("# one\n\ntwo\n\nthree\n\nfour");

    expect(rawOf(blocks.update("other").map(({ token }) => token))).toEqual(["other"]);
  });

  test("resolve a link whose address is defined at the end", () => {
    const text = "[here][a]\n\n1\n\n2\n\n3\n\n4\n\n[a]: https://a.example/";
    const blocks = new MarkdownBlocks();
    for (let end = 1; end <= text.length; end++) blocks.update(text.slice(0, end));

    expect(blocks.finish(text)[0]?.token).toMatchObject({
      tokens: [{ type: "link", href: "https://a.example/" }],
    });
  });

  test.each([
    ["thousands of nested quotes", ">".repeat(5000)],
    [
      "deeply nested lists",
      Array.from({ length: 80 }, (_, n) => `${"  ".repeat(n)}- x`).join("\n"),
    ],
    ["a very long block", "x".repeat(60_000)],
  ])("are plain text for %s", (_, text) => {
    const blocks = new MarkdownBlocks().update(text);

    expect(blocks.map(({ isPlain, token }) => [isPlain, token.raw])).toEqual([[true, text]]);
  });
});

function rawOf(tokens: readonly Token[]): readonly string[] {
  return tokens.map(({ raw }) => raw);
}
