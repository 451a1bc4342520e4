/** How text looks. A style is a word, so that text without colours simply ignores it. */
export type Style =
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "strike"
  | "red"
  | "green"
  | "yellow"
  | "cyan";

/** A piece of text in one style. */
export interface Span {
  readonly text: string;
  readonly styles?: readonly Style[];
}

/** One line of the screen: spans from left to right, without line breaks. */
export type Line = readonly Span[];

/** One character as a person sees it: a grapheme, and the columns that it takes. */
export interface Cell {
  readonly text: string;
  readonly width: number;
  readonly styles?: readonly Style[] | undefined;
}

/** The span, styled. An empty list of styles is left out. */
export function span(text: string, ...styles: readonly Style[]): Span {
  return styles.length === 0 ? { text } : { text, styles };
}

const TAB = "    ";

const PLAIN = /^[\x20-\x7E]*$/;

const SEGMENTER = new Intl.Segmenter();

/** Splits spans into cells. Tabs become spaces, because their width depends on where they start. */
export function toCells(line: Line): readonly Cell[] {
  return line.flatMap(({ text, styles }) => {
    const flat = text.replaceAll("\t", TAB);
    // Most text is ASCII, and segmentation is slow.
    if (PLAIN.test(flat)) return Array.from(flat, (character) => cell(character, 1, styles));
    return Array.from(SEGMENTER.segment(flat), ({ segment }) =>
      cell(segment, graphemeWidth(segment), styles),
    );
  });
}

function cell(text: string, width: number, styles: readonly Style[] | undefined): Cell {
  return styles === undefined ? { text, width } : { text, width, styles };
}

/** The columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  return PLAIN.test(text) ? text.length : cellsWidth(toCells([{ text }]));
}

export function cellsWidth(cells: readonly Cell[]): number {
  return cells.reduce((sum, { width }) => sum + width, 0);
}

/** Joins neighbouring cells of the same style into spans. */
export function toLine(cells: readonly Cell[]): Line {
  const spans: { text: string; styles?: readonly Style[] }[] = [];
  for (const { text, styles } of cells) {
    const last = spans.at(-1);
    if (last !== undefined && last.styles === styles) last.text += text;
    else spans.push(styles === undefined ? { text } : { text, styles });
  }
  return spans;
}

/** The text of a line without its styles. */
export function lineText(line: Line): string {
  return line.map(({ text }) => text).join("");
}

/**
 * The wide and full-width characters of Unicode (UAX #11) outside the emoji, which have a property of
 * their own.
 */
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]/u;

const EMOJI = /\p{Emoji_Presentation}|\p{Emoji}\uFE0F|\p{RI}\p{RI}/u;

/** Marks without a base character, and characters that are not drawn. */
const WIDTHLESS = /^[\p{M}\p{Cc}\p{Cf}]+$/u;

function graphemeWidth(grapheme: string): number {
  if (WIDTHLESS.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  strike: [9, 29],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** The line with its escape sequences. Without colours there are none. */
export function toAnsi(line: Line, hasColours: boolean): string {
  if (!hasColours) return lineText(line);
  return line
    .map(({ text, styles = [] }) => {
      if (styles.length === 0 || text === "") return text;
      const start = styles.map((style) => CODES[style][0]).join(";");
      const end = [...new Set(styles.map((style) => CODES[style][1]))].join(";");
      return `\u001B[${start}m${text}\u001B[${end}m`;
    })
    .join("");
}
