import { type Cell, type Line, cellsWidth, span, toCells, toLine } from "./cells.ts";

export interface WrapOptions {
  /** What the first line starts with, for example a bullet. */
  readonly first?: Line;
  /** What the other lines start with; by default as many spaces as `first` is wide. */
  readonly rest?: Line;
  /** Breaks lines at the edge only and keeps all spaces, for code. */
  readonly isCode?: boolean;
}

/** The narrowest column that text is wrapped to, however deep it is indented. */
const NARROWEST = 8;

/**
 * Wraps a text without line breaks to a width. Lines break at spaces, between wide characters, and
 * inside a word only if the word alone is wider than a line.
 */
export function wrap(text: Line, width: number, options: WrapOptions = {}): readonly Line[] {
  const { first = [], isCode = false } = options;
  const indent = cellsWidth(toCells(first));
  const rest = options.rest ?? (indent === 0 ? [] : [span(" ".repeat(indent))]);
  const room = Math.max(NARROWEST, width - indent);
  const rows = isCode ? cut(toCells(text), room) : breakWords(toCells(text), room);
  return rows.map((row, place) => [...(place === 0 ? first : rest), ...toLine(row)]);
}

/** Code: every row is as full as possible. */
function cut(cells: readonly Cell[], width: number): readonly (readonly Cell[])[] {
  const rows: (readonly Cell[])[] = [];
  let start = 0;
  let used = 0;
  for (const [place, { width: own }] of cells.entries()) {
    if (used + own > width) {
      rows.push(cells.slice(start, place));
      start = place;
      used = 0;
    }
    used += own;
  }
  rows.push(cells.slice(start));
  return rows;
}

function breakWords(cells: readonly Cell[], width: number): readonly (readonly Cell[])[] {
  const rows: (readonly Cell[])[] = [];
  let start = 0;
  /** Where the next row would start if this one broke at its last opportunity. */
  let chance = 0;
  let used = 0;
  for (let place = 0; place < cells.length; place += 1) {
    const { text, width: own } = cells[place] as Cell;
    if (text === " ") {
      chance = place + 1;
      used += own;
      continue;
    }
    if (own === 2 && place > start) chance = place;
    if (used + own > width && place > start) {
      const end = chance > start ? chance : place;
      rows.push(trimmed(cells.slice(start, end)));
      start = end;
      chance = end;
      used = cellsWidth(cells.slice(start, place));
    }
    used += own;
    if (own === 2) chance = place + 1;
  }
  rows.push(trimmed(cells.slice(start)));
  return rows;
}

/** Without the spaces at its end. */
function trimmed(row: readonly Cell[]): readonly Cell[] {
  const last = row.findLastIndex(({ text }) => text !== " ");
  return row.slice(0, last + 1);
}

/** The line cut to a width, with "…" if something is missing. */
export function clip(line: Line, width: number): Line {
  const cells = toCells(line);
  if (cellsWidth(cells) <= width) return line;
  const [row = []] = cut(cells, Math.max(1, width - 1));
  return [...toLine(row), span("…")];
}
