import { printable } from "@convoke/protocol/internal";
import { useState } from "preact/hooks";
import { formatCount } from "./time.tsx";

/** Longer texts are shown in part until the reader asks for more. */
const SHOWN = 4000;

/** How much "Show more" adds. A browser takes long to lay out megabytes of text. */
const STEP = 200_000;

interface LongTextProps {
  readonly text: string;
  /** How many characters are shown at first. */
  readonly limit?: number;
  /** Whether the end of a text that is shown in part is shown, too. */
  readonly hasEnd?: boolean;
  readonly class?: string;
}

/** Untrusted text of any length, as it was written, with its invisible characters marked. */
export function LongText({ text, limit = SHOWN, hasEnd, class: name = "" }: LongTextProps) {
  const [length, setLength] = useState(limit);
  const isWhole = text.length <= length;
  const shown = isWhole ? text : text.slice(0, length).toWellFormed();
  const end =
    isWhole || hasEnd !== true ? "" : text.slice(Math.max(length, text.length - limit / 4));
  return (
    <span class={`long-text ${name}`}>
      {visibleText(shown)}
      {!isWhole && (
        <>
          …{" "}
          <button type="button" class="more" onClick={() => setLength(length + STEP)}>
            {text.length <= length + STEP ? "Show all" : "Show more"} ({formatCount(text.length)}{" "}
            characters)
          </button>
          {end !== "" && ` … ${visibleText(end.toWellFormed())}`}
        </>
      )}
    </span>
  );
}

/**
 * Untrusted text in which characters that hide or reorder other characters are visible, as in
 * "invoice⟨U+202E⟩fdp.exe".
 */
export function visibleText(text: string): string {
  const lines = text.replaceAll("\r\n", "\n");
  if (printable(lines) === lines) return lines;
  return Array.from(lines, (character) =>
    printable(character) === "" ? mark(character) : character,
  ).join("");
}

function mark(character: string): string {
  return `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
