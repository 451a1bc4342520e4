import { EventEmitter } from "node:events";
import { toCells } from "../cells.ts";
import type { Screen } from "../painter.ts";

const CONTROL = /^(?:\r|\n|\p{Cc}\[([?]?)([\d;]*)([A-Za-z]))/u;

/** A terminal in memory: enough of one to see what a person would see. */
export class VirtualScreen extends EventEmitter implements Screen {
  columns: number;
  rows: number;
  /** Everything that was written, with its escape sequences. */
  written = "";
  /** Lines that have scrolled out at the top. */
  readonly scrollback: string[] = [];
  #lines: string[][];
  #row = 0;
  #column = 0;
  #wraps = true;
  readonly #watchers = new Set<() => void>();

  constructor(columns = 80, rows = 24) {
    super();
    this.columns = columns;
    this.rows = rows;
    this.#lines = this.#blank();
  }

  /** The visible lines without empty ones at the end. */
  get text(): string {
    return this.#lines.map(textOf).join("\n").trimEnd();
  }

  /** The visible lines and everything above them. */
  get all(): string {
    return [...this.scrollback, this.text].join("\n");
  }

  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.#row, column: this.#column };
  }

  /** The person makes the window larger or smaller; what is visible is lost, as on some terminals. */
  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.#lines = this.#blank();
    this.#row = 0;
    this.#column = 0;
    this.emit("resize");
  }

  /** Waits until the person sees it. */
  async sees(wanted: RegExp | string): Promise<void> {
    const isThere = (): boolean =>
      typeof wanted === "string" ? this.all.includes(wanted) : wanted.test(this.all);
    while (!isThere()) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(
        () => reject(new Error(`${String(wanted)} is not on the screen:\n${this.all}`)),
        20_000,
      );
      this.#watchers.add(resolve);
      await promise.finally(() => clearTimeout(timer));
      this.#watchers.delete(resolve);
    }
  }

  write(text: string): boolean {
    this.written += text;
    let rest = text;
    while (rest !== "") {
      const control = CONTROL.exec(rest);
      if (control === null) {
        const end = rest.search(/\p{Cc}/u);
        const plain = end === -1 ? rest : rest.slice(0, Math.max(1, end));
        for (const { text: grapheme, width } of toCells([{ text: plain }]))
          this.#put(grapheme, width);
        rest = rest.slice(plain.length);
      } else {
        this.#control(control);
        rest = rest.slice(control[0].length);
      }
    }
    for (const seen of this.#watchers) seen();
    return true;
  }

  #blank(): string[][] {
    return Array.from({ length: this.rows }, () => []);
  }

  #control([whole, isPrivate, digits = "", name = ""]: RegExpExecArray): void {
    if (whole === "\r") this.#column = 0;
    else if (whole === "\n") this.#down();
    else if (isPrivate === "?") this.#mode(`${digits}${name}`);
    else this.#sequence(name, Number(digits || (name === "J" || name === "K" ? 0 : 1)));
  }

  #mode(mode: string): void {
    if (mode === "7h") this.#wraps = true;
    if (mode === "7l") this.#wraps = false;
  }

  #sequence(name: string, count: number): void {
    switch (name) {
      case "A":
        this.#row = Math.max(0, this.#row - count);
        return;
      case "C":
        this.#column = Math.min(this.columns - 1, this.#column + count);
        return;
      case "H":
        this.#row = 0;
        this.#column = 0;
        return;
      case "J":
        this.#line.splice(this.#column);
        this.#lines.fill([], this.#row + 1);
        this.#lines = this.#lines.map((line) => [...line]);
        return;
      case "K":
        this.#line.splice(count === 2 ? 0 : this.#column);
        return;
      case "m":
        return;
      default:
        throw new Error(`the virtual screen does not know ESC [ ${name}`);
    }
  }

  get #line(): string[] {
    return this.#lines[this.#row] ?? [];
  }

  #down(): void {
    if (this.#row < this.rows - 1) {
      this.#row += 1;
      return;
    }
    this.scrollback.push(textOf(this.#lines.shift() ?? []));
    this.#lines.push([]);
  }

  #put(grapheme: string, width: number): void {
    if (this.#column + width > this.columns) {
      if (!this.#wraps) return;
      this.#column = 0;
      this.#down();
    }
    const line = this.#line;
    while (line.length < this.#column) line.push(" ");
    line[this.#column] = grapheme;
    if (width === 2) line[this.#column + 1] = "";
    this.#column += width;
  }
}

function textOf(line: readonly string[]): string {
  return line.join("").trimEnd();
}
