import { useMemo } from "preact/hooks";
import { VisibleText } from "../visible-text.tsx";
import { type DiffRow, diffRows } from "./diff-rows.ts";

interface DiffViewProps {
  /** The name of what changes. */
  readonly name: string;
  /** Absent if it is new. */
  readonly before?: string | undefined;
  /** Absent if it is deleted. */
  readonly after?: string | undefined;
}

/** Larger texts are not compared: the page has to stay usable. */
const MAX_COMPARED = 500_000;

const MAX_ROWS = 2000;

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

const NAMES = { same: "", removed: "Removed: ", added: "Added: " } as const;

/** A text before and after a change, line by line. */
export function DiffView({ name, before, after }: DiffViewProps) {
  const rows = useMemo(() => compare(before ?? "", after ?? ""), [before, after]);
  const what = before === undefined ? "New" : after === undefined ? "Deleted" : "Changed";
  return (
    <figure class="diff">
      <figcaption class="diff-head">
        <span class="badge">{what}</span>
        <code>
          <VisibleText text={name} />
        </code>
      </figcaption>
      {rows === undefined ? (
        <p class="muted small diff-note">The text is too large to compare here.</p>
      ) : (
        <div class="diff-rows" tabIndex={0} role="region" aria-label={`Changes of ${name}`}>
          {rows.slice(0, MAX_ROWS).map((row, place) => (
            <Row key={place} row={row} />
          ))}
          {rows.length === 0 && <p class="muted small diff-note">Nothing changes.</p>}
          {rows.length > MAX_ROWS && (
            <p class="muted small diff-note">{rows.length - MAX_ROWS} more lines.</p>
          )}
        </div>
      )}
    </figure>
  );
}

function compare(before: string, after: string): readonly DiffRow[] | undefined {
  if (before.length + after.length > MAX_COMPARED) return undefined;
  return diffRows(before, after);
}

function Row({ row }: { readonly row: DiffRow }) {
  if (row.kind === "gap") {
    return (
      <div class="diff-gap">
        {row.lines} unchanged {row.lines === 1 ? "line" : "lines"}
      </div>
    );
  }
  return (
    <div class="diff-row" data-kind={row.kind}>
      <span class="diff-number" aria-hidden="true">
        {row.before}
      </span>
      <span class="diff-number" aria-hidden="true">
        {row.after}
      </span>
      <span class="diff-sign" aria-hidden="true">
        {SIGNS[row.kind]}
      </span>
      <span class="diff-text">
        <span class="visually-hidden">{NAMES[row.kind]}</span>
        {row.pieces.map(({ text, isChanged }, place) =>
          isChanged ? (
            <mark key={place}>
              <VisibleText text={text} />
            </mark>
          ) : (
            <VisibleText key={place} text={text} />
          ),
        )}
      </span>
    </div>
  );
}
