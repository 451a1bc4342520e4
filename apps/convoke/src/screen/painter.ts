import { type Line, toAnsi } from "./cells.ts";
import { clip } from "./wrap.ts";

/** The part of a terminal's output stream that is used. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: "resize", listener: () => void): unknown;
  off(event: "resize", listener: () => void): unknown;
}

/** The lines at the bottom of the screen that can still change. */
export interface LiveArea {
  readonly lines: readonly Line[];
  /** Where the cursor is: the row among the lines, and the column. */
  readonly row: number;
  readonly column: number;
}

const ESC = "\u001B[";

/** Before the text: after a full line it would erase its last character. */
const CLEAR_LINE = `${ESC}2K`;

/** Terminals that know it show everything until the end at once; others ignore it. */
const BEGIN = `${ESC}?2026h${ESC}?25l`;
const END = `${ESC}?25h${ESC}?2026l`;

/**
 * Paints a conversation: finished lines scroll up and become part of the terminal's own scrollback,
 * and below them a live area is painted again whenever it changes.
 */
export class Painter {
  readonly #screen: Screen;
  readonly #hasColours: boolean;
  /** The row of the cursor within the painted live area. */
  #row = 0;
  #painted = "";

  constructor(screen: Screen, hasColours: boolean) {
    this.#screen = screen;
    this.#hasColours = hasColours;
  }

  /** Appends finished lines above the live area, and paints the live area. */
  paint(finished: readonly Line[], live: LiveArea): void {
    const area = this.#area(live);
    if (finished.length === 0 && area === this.#painted) return;
    this.#write(`${this.#toTop()}${ESC}J${this.#lines(finished)}${area}`, live);
    this.#painted = area;
  }

  /** Paints the whole screen again, for example after it was resized. */
  repaint(lines: readonly Line[], live: LiveArea): void {
    const room = Math.max(0, this.#screen.rows - live.lines.length);
    const area = this.#area(live);
    const visible = room === 0 ? [] : lines.slice(-room);
    // Erase line by line: some terminals move a screen that is erased at once into the scrollback.
    const cleared = `${ESC}H${this.#lines(visible)}${area}${ESC}J`;
    this.#write(cleared, live);
    this.#painted = area;
  }

  /** Leaves the finished lines and removes the live area. */
  close(): void {
    this.#screen.write(`${this.#toTop()}${ESC}J`);
    this.#row = 0;
    this.#painted = "";
  }

  #write(text: string, live: LiveArea): void {
    const up = live.lines.length - 1 - live.row;
    const toCursor = `\r${up > 0 ? `${ESC}${up}A` : ""}${live.column > 0 ? `${ESC}${live.column}C` : ""}`;
    this.#screen.write(`${BEGIN}${text}${toCursor}${END}`);
    this.#row = live.row;
  }

  #toTop(): string {
    return this.#row > 0 ? `\r${ESC}${this.#row}A` : "\r";
  }

  #lines(lines: readonly Line[]): string {
    return lines.map((line) => `${CLEAR_LINE}${toAnsi(line, this.#hasColours)}\r\n`).join("");
  }

  /**
   * The live lines as text. Wrapping is off meanwhile: a character that the terminal draws wider than
   * expected must not change the number of rows.
   */
  #area({ lines }: LiveArea): string {
    // Some pseudo-terminals have no size.
    const columns = this.#screen.columns || 80;
    const shown = lines.map(
      (line) => `${CLEAR_LINE}${toAnsi(clip(line, columns), this.#hasColours)}`,
    );
    return `${ESC}?7l${shown.join("\r\n")}${ESC}?7h`;
  }
}
