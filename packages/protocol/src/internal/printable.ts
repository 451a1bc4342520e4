/**
 * Characters of remote text that must not reach a terminal: control characters except tab and line
 * feed, because ESC could control the terminal; bidirectional controls, which reorder what is
 * displayed; and characters without a width, which hide text or make two names look the same. The
 * variation selectors of emoji are harmless.
 */
const HIDDEN = /(?!\t|\n|\uFE0E|\uFE0F)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu;

/** Removes characters from remote text that could deceive its reader. */
export function printable(text: string): string {
  return text.replaceAll(HIDDEN, "");
}

/**
 * The text in pieces, with each such character as a piece of its own at the odd places, so that a page
 * can show them as marks.
 */
export function splitHidden(text: string): readonly string[] {
  return text.search(HIDDEN) === -1 ? [text] : text.split(new RegExp(`(${HIDDEN.source})`, "u"));
}

/** Printable text on one line of at most `longest` characters. */
export function oneLine(text: string, longest = 200): string {
  const line = printable(text.replaceAll(/\s+/g, " ")).trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1)}…`;
}

/** JSON in which such characters are escaped, so that they are visible and nothing is lost. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index).toString(16);
      return `\\u${unit.padStart(4, "0")}`;
    }).join(""),
  );
}
