import { printable } from "@convoke/protocol/internal";
import { type Cell, type Line, cellsWidth, span, toCells, toLine } from "./cells.ts";
import type { Key, KeyName } from "./keys.ts";

/** What a key means to the owner of the editor; `undefined` if it only edited the text. */
export type EditorAction =
  | { readonly kind: "submit"; readonly text: string }
  | { readonly kind: "interrupt" | "leave" | "clear-screen" | "complete" | "escape" };

export interface EditorView {
  readonly lines: readonly Line[];
  /** Where the cursor is: the row among the lines, and the column. */
  readonly row: number;
  readonly column: number;
}

export interface EditorViewOptions {
  readonly width: number;
  /** The most rows; longer text scrolls with the cursor. */
  readonly rows: number;
  readonly prompt: Line;
  /** Shows dots instead of the text. */
  readonly isSecret?: boolean;
}

/** A text of one or more lines that is being typed, with a history of earlier ones. */
export class LineEditor {
  #before = "";
  #after = "";
  #killed = "";
  readonly #history: string[];
  /** The place in the history; its length stands for the text being typed. */
  #place: number;
  #draft = "";
  /** The keys that change the text or move the cursor. */
  readonly #edits: Partial<Readonly<Record<KeyName, () => void>>> = {
    newline: () => this.#insert("\n"),
    yank: () => this.#insert(this.#killed),
    left: () => this.#moveBy(-lastGrapheme(this.#before).length),
    right: () => this.#moveBy(firstGrapheme(this.#after).length),
    "word-left": () => this.#moveBy(-lastWord(this.#before).length),
    "word-right": () => this.#moveBy(nextWord(this.#after).length),
    home: () => this.#moveBy(-lineBefore(this.#before).length),
    end: () => this.#moveBy(lineAfter(this.#after).length),
    up: () => this.#vertical(-1),
    down: () => this.#vertical(1),
    backspace: () => this.#delete(lastGrapheme(this.#before).length, 0),
    delete: () => this.#delete(0, firstGrapheme(this.#after).length),
    "end-of-input": () => this.#delete(0, firstGrapheme(this.#after).length),
    "delete-word": () => this.#kill(lastWord(this.#before).length, 0),
    "delete-next-word": () => this.#kill(0, nextWord(this.#after).length),
    "delete-line": () => this.#kill(lineBefore(this.#before).length, 0),
    "delete-rest": () => this.#kill(0, lineAfter(this.#after).length || 1),
  };

  constructor(history: readonly string[] = []) {
    this.#history = [...history];
    this.#place = this.#history.length;
  }

  get text(): string {
    return this.#before + this.#after;
  }

  set text(text: string) {
    this.#before = text;
    this.#after = "";
    this.#place = this.#history.length;
  }

  /** Deletes everything; "yank" brings it back. */
  clear(): void {
    this.#kill(this.#before.length, this.#after.length);
  }

  /** Adds a text to the history, unless it is the newest entry already. */
  remember(text: string): void {
    if (this.#history.at(-1) !== text) this.#history.push(text);
    this.#place = this.#history.length;
  }

  press(key: Key): EditorAction | undefined {
    if (key.kind !== "key") {
      this.#insert(printable(key.text));
      return undefined;
    }
    const { name } = key;
    if (name === "enter") return this.#enter();
    if (name === "end-of-input" && this.text === "") return { kind: "leave" };
    this.#edits[name]?.();
    return ACTIONS[name];
  }

  view({ width, rows, prompt, isSecret = false }: EditorViewOptions): EditorView {
    const shown = (text: string): string =>
      isSecret ? "•".repeat(toCells([span(text)]).length) : text;
    const marker = toCells(prompt);
    const indent = cellsWidth(marker);
    const room = Math.max(1, width - indent - 1);
    const before = layOut(shown(this.#before), room);
    const all = layOut(shown(this.text), room);
    // The cursor may stand behind the last column of a full row.
    const row = before.length - 1;
    const column = cellsWidth(before[row] ?? []);
    const from = Math.max(0, Math.min(row - rows + 1, all.length - rows));
    const window = all.slice(from, from + rows);
    const lines = window.map((cells, place) => {
      const isFirst = from + place === 0;
      return [...(isFirst ? prompt : [span(" ".repeat(indent))]), ...toLine(cells)];
    });
    return { lines, row: row - from, column: indent + column };
  }

  #insert(text: string): void {
    this.#before += text;
    this.#place = this.#history.length;
  }

  /** A backslash at the end of the text continues it on the next line; two stand for a literal one. */
  #enter(): EditorAction | undefined {
    if (this.#after === "" && this.#before.endsWith("\\")) {
      const isLiteral = this.#before.endsWith("\\\\");
      this.#before = this.#before.slice(0, -1);
      if (!isLiteral) {
        this.#insert("\n");
        return undefined;
      }
    }
    const { text } = this;
    this.text = "";
    return { kind: "submit", text };
  }

  #moveBy(count: number): void {
    const { text } = this;
    const place = this.#before.length + count;
    this.#before = text.slice(0, place);
    this.#after = text.slice(place);
  }

  #delete(left: number, right: number): void {
    this.#before = this.#before.slice(0, this.#before.length - left);
    this.#after = this.#after.slice(right);
  }

  /** Deletes and keeps what was deleted. */
  #kill(left: number, right: number): void {
    const start = this.#before.length - left;
    this.#killed = this.#before.slice(start) + this.#after.slice(0, right);
    this.#delete(left, right);
  }

  /** Moves between the lines of the text, and beyond its first or last line through the history. */
  #vertical(direction: -1 | 1): void {
    const column = lineBefore(this.#before).length;
    if (direction === -1 && this.#before.includes("\n")) {
      this.#moveBy(-column - 1);
      const above = lineBefore(this.#before).length;
      return this.#moveBy(-Math.max(0, above - column));
    }
    if (direction === 1 && this.#after.includes("\n")) {
      this.#moveBy(lineAfter(this.#after).length + 1);
      return this.#moveBy(Math.min(column, lineAfter(this.#after).length));
    }
    const place = this.#place + direction;
    if (place < 0 || place > this.#history.length) return;
    if (this.#place === this.#history.length) this.#draft = this.text;
    this.text = this.#history[place] ?? this.#draft;
    this.#place = place;
  }
}

const ACTIONS: Partial<Readonly<Record<KeyName, EditorAction>>> = {
  interrupt: { kind: "interrupt" },
  "clear-screen": { kind: "clear-screen" },
  tab: { kind: "complete" },
  escape: { kind: "escape" },
};

/** The rows that a text takes in a column of that width. */
function layOut(text: string, width: number): readonly (readonly Cell[])[] {
  return text.split("\n").flatMap((line) => {
    const rows: Cell[][] = [[]];
    let used = 0;
    for (const cell of toCells([span(line)])) {
      if (used + cell.width > width) {
        rows.push([]);
        used = 0;
      }
      rows.at(-1)?.push(cell);
      used += cell.width;
    }
    return rows;
  });
}

const SEGMENTER = new Intl.Segmenter();

function firstGrapheme(text: string): string {
  for (const { segment } of SEGMENTER.segment(text)) return segment;
  return "";
}

/** Looks only at the end of the text, because segmentation is slow. */
function lastGrapheme(text: string): string {
  return [...SEGMENTER.segment(text.slice(-64))].at(-1)?.segment ?? "";
}

function lastWord(text: string): string {
  return /\S*\s*$/.exec(text.slice(-1000))?.[0] ?? "";
}

function nextWord(text: string): string {
  return /^\s*\S*/.exec(text)?.[0] ?? "";
}

function lineBefore(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}

function lineAfter(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
