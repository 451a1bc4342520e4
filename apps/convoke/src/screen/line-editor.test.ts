import { describe, expect, test } from "vitest";
import { lineText, span } from "./cells.ts";
import { KeyDecoder } from "./keys.ts";
import { type EditorAction, LineEditor } from "./line-editor.ts";

const ESC = "\u001B";
const UP = `${ESC}[A`;
const DOWN = `${ESC}[B`;
const LEFT = `${ESC}[D`;

/** Types into an editor, and returns the events that it reports. */
function type(editor: LineEditor, input: string): readonly EditorAction[] {
  return new KeyDecoder().feed(input).flatMap((key) => editor.press(key) ?? []);
}

function textAfter(...inputs: readonly string[]): string {
  const editor = new LineEditor();
  for (const input of inputs) type(editor, input);
  return editor.text;
}

describe("a line editor", () => {
  test.each([
    ["types at the cursor", ["helo", LEFT, "l"], "hello"],
    ["deletes a whole character, however it is composed", ["ae\u0301🇩🇪", "\u007F\u007F"], "a"],
    ["moves and deletes by words", ["one two three", `${ESC}b`, "\u0017"], "one three"],
    ["deletes to both ends of the line", ["one two", `${ESC}b`, "\u000B", "\u0015"], ""],
    ["inserts again what it deleted", ["one two", "\u0017", "\u0001", "\u0019 "], "two one "],
    ["goes to the ends of the line", ["b", "\u0001", "a", "\u0005", "c"], "abc"],
    ["has lines", ["one", `${ESC}\r`, "two", UP, "\u0005", "!"], "one!\ntwo"],
    ["removes control characters of a paste", [`${ESC}[200~a\u0007\nb${ESC}[201~`], "a\nb"],
  ])("%s", (_, inputs, text) => {
    expect(textAfter(...inputs)).toBe(text);
  });

  test("submits with Enter, but a backslash before it starts a new line", () => {
    const editor = new LineEditor();

    expect(type(editor, "one\\\rtwo\r")).toEqual([{ kind: "submit", text: "one\ntwo" }]);
    expect(type(editor, "C:\\\\\r")).toEqual([{ kind: "submit", text: "C:\\" }]);
    expect(editor.text).toBe("");
  });

  test("Ctrl+D leaves if nothing is typed, and otherwise deletes", () => {
    const editor = new LineEditor();

    expect(type(editor, `ab${LEFT}\u0004`)).toEqual([]);
    expect(editor.text).toBe("a");
    expect(type(editor, "\u007F\u0004")).toEqual([{ kind: "leave" }]);
  });

  test("goes back in the history, and keeps what was being typed", () => {
    const editor = new LineEditor(["first", "second\nline"]);
    type(editor, "draft");

    type(editor, UP);
    expect(editor.text).toBe("second\nline");
    type(editor, UP + UP + UP);
    expect(editor.text).toBe("first");
    type(editor, DOWN + DOWN + DOWN);
    expect(editor.text).toBe("draft");
  });

  test("shows the cursor behind wide characters, wraps, and scrolls with the cursor", () => {
    const editor = new LineEditor();
    const prompt = [span("> ")];
    type(editor, "日本");

    expect(editor.view({ width: 20, rows: 3, prompt })).toMatchObject({ row: 0, column: 6 });

    type(editor, "abcdefgh\n\n\nend");
    const { lines, row, column } = editor.view({ width: 10, rows: 3, prompt });
    expect(lines.map(lineText)).toEqual(["  ", "  ", "  end"]);
    expect({ row, column }).toEqual({ row: 2, column: 5 });
  });

  test("does not show a secret", () => {
    const editor = new LineEditor();
    type(editor, "s3cret");

    const { lines } = editor.view({ width: 20, rows: 3, prompt: [], isSecret: true });

    expect(lines.map(lineText)).toEqual(["••••••"]);
  });
});
