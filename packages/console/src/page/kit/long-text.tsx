import { useState } from "preact/hooks";
import { formatCount } from "./time.tsx";
import { visibleText } from "./visible-text.tsx";

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
  /** How the visible part is written. Default: invisible characters are marked. */
  readonly write?: (text: string) => string;
  readonly class?: string;
}

/** Untrusted text of any length, as it was written, with its invisible characters marked. */
export function LongText(props: LongTextProps) {
  const { text, limit = SHOWN, hasEnd, write = visibleText, class: name = "" } = props;
  const [length, setLength] = useState(limit);
  const isWhole = text.length <= length;
  const shown = isWhole ? text : text.slice(0, length).toWellFormed();
  const end =
    isWhole || hasEnd !== true ? "" : text.slice(Math.max(length, text.length - limit / 4));
  return (
    <span class={`long-text ${name}`}>
      {write(shown)}
      {!isWhole && (
        <>
          …{" "}
          <button type="button" class="more" onClick={() => setLength(length + STEP)}>
            {text.length <= length + STEP ? "Show all" : "Show more"} ({formatCount(text.length)}{" "}
            characters)
          </button>
          {end !== "" && ` … ${write(end.toWellFormed())}`}
        </>
      )}
    </span>
  );
}
