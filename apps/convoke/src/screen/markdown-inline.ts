import { type Line, type Span, type Style, span } from "./cells.ts";

/** Longer text is shown as it is: nobody marks up that much, and matching it would be slow. */
const LONGEST = 20_000;

/** The longest marked text. The limit keeps hostile text from taking quadratic time. */
const MOST = 400;

/**
 * One alternative for each kind of markup: an escaped character, code, bold, struck out, italic, an
 * image or link, and an address in angle brackets.
 */
const MARKUP = new RegExp(
  [
    String.raw`\\([!-/:-@[-\x60{-~])`,
    String.raw`(\x60{1,3})(?!\x60)([^\x60]{1,${MOST}})\2(?!\x60)`,
    String.raw`\*\*(?=\S)((?:[^*]|\*(?!\*)){1,${MOST}}?)(?<=\S)\*\*`,
    String.raw`(?<!\w)__(?=\S)([^_]{1,${MOST}})(?<=\S)__(?!\w)`,
    String.raw`~~(?=\S)([^~]{1,${MOST}})(?<=\S)~~`,
    String.raw`(?<![\w*])\*(?=[^\s*])([^*]{1,${MOST}})(?<=\S)\*(?![\w*])`,
    String.raw`(?<!\w)_(?=[^\s_])([^_]{1,${MOST}})(?<=\S)_(?!\w)`,
    String.raw`!?\[([^[\]]{0,${MOST}})\]\(([^\s()]{1,${MOST}}(?:\([^\s()]{0,80}\))?)\)`,
    String.raw`<(https?:\/\/[^\s<>]{1,${MOST}})>`,
  ].join("|"),
  "gu",
);

/** The words of one line of Markdown in their styles. Markup that does not end is kept as text. */
export function inlineSpans(text: string, styles: readonly Style[] = []): Line {
  if (text.length > LONGEST) return [span(text, ...styles)];
  const spans: Span[] = [];
  let from = 0;
  for (const match of text.matchAll(MARKUP)) {
    if (match.index > from) spans.push(span(text.slice(from, match.index), ...styles));
    spans.push(...marked(match, styles));
    from = match.index + match[0].length;
  }
  if (from < text.length) spans.push(span(text.slice(from), ...styles));
  return spans;
}

function marked(match: RegExpExecArray, styles: readonly Style[]): Line {
  const [, escaped, , code, stars, lines, struck, star, line, label, target, address] = match;
  const bold = stars ?? lines;
  const italic = star ?? line;
  if (escaped !== undefined) return [span(escaped, ...styles)];
  if (code !== undefined) return [span(code, ...styles, "cyan")];
  if (bold !== undefined) return inlineSpans(bold, [...styles, "bold"]);
  if (struck !== undefined) return inlineSpans(struck, [...styles, "strike"]);
  if (italic !== undefined) return inlineSpans(italic, [...styles, "italic"]);
  if (address !== undefined) return [span(address, ...styles, "underline")];
  return link(label ?? "", target ?? "", styles);
}

/** A link shows where it leads, so that its text cannot deceive. */
function link(label: string, target: string, styles: readonly Style[]): Line {
  if (label === "" || label === target) return [span(target, ...styles, "underline")];
  return [
    ...inlineSpans(label, [...styles, "underline"]),
    span(" "),
    span(`(${target})`, ...styles, "dim"),
  ];
}
