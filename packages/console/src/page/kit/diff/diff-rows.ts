import { type ChangeObject, diffLines, diffWordsWithSpace } from "diff";

/** A part of a line, and whether it differs from the line that it replaces. */
interface DiffPiece {
  readonly text: string;
  readonly isChanged: boolean;
}

/** A line of a unified diff, or a gap of unchanged lines that are not shown. */
export type DiffRow =
  | {
      readonly kind: "same" | "removed" | "added";
      /** The number of the line before the change. Absent for an added one. */
      readonly before?: number;
      /** The number of the line after the change. Absent for a removed one. */
      readonly after?: number;
      readonly pieces: readonly DiffPiece[];
    }
  | { readonly kind: "gap"; readonly lines: number };

type LineRow = Exclude<DiffRow, { readonly kind: "gap" }>;

/** Unchanged lines around a change. */
const CONTEXT = 3;

/** With more changes than this, everything counts as replaced: finding the fewest would take too long. */
const MAX_EDITS = 4000;

/** The lines of a text before and after a change. */
export function diffRows(before: string, after: string): readonly DiffRow[] {
  const changes = diffLines(before, after, { maxEditLength: MAX_EDITS }) ?? [
    { value: before, removed: true, added: false, count: 0 },
    { value: after, removed: false, added: true, count: 0 },
  ];
  return withGaps(pairWords(numbered(changes)));
}

function numbered(changes: readonly ChangeObject<string>[]): readonly LineRow[] {
  let before = 1;
  let after = 1;
  return changes.flatMap(({ value, removed, added }) =>
    linesOf(value).map((text): LineRow => {
      const pieces = [{ text, isChanged: false }];
      if (removed) return { kind: "removed", before: before++, pieces };
      if (added) return { kind: "added", after: after++, pieces };
      return { kind: "same", before: before++, after: after++, pieces };
    }),
  );
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Marks the words that differ where as many lines were added as were removed before them. */
function pairWords(rows: readonly LineRow[]): readonly LineRow[] {
  const result = [...rows];
  for (let start = 0; start < rows.length; start++) {
    if (rows[start]?.kind !== "removed") continue;
    const removed = countFrom(rows, start, "removed");
    const added = countFrom(rows, start + removed, "added");
    if (removed === added) {
      for (let line = start; line < start + removed; line++) {
        const [old, fresh] = wordPieces(rows[line]!, rows[line + removed]!);
        result[line] = old;
        result[line + removed] = fresh;
      }
    }
    start += removed + added - 1;
  }
  return result;
}

function countFrom(rows: readonly LineRow[], start: number, kind: LineRow["kind"]): number {
  let end = start;
  while (rows[end]?.kind === kind) end++;
  return end - start;
}

function wordPieces(old: LineRow, fresh: LineRow): readonly [LineRow, LineRow] {
  const words = diffWordsWithSpace(textOf(old), textOf(fresh), { maxEditLength: 200 });
  if (words === undefined) return [old, fresh];
  const piecesOf = (isOther: (word: ChangeObject<string>) => boolean): readonly DiffPiece[] =>
    words
      .filter((word) => !isOther(word))
      .map(({ value, added, removed }) => ({ text: value, isChanged: added || removed }));
  return [
    { ...old, pieces: piecesOf(({ added }) => added) },
    { ...fresh, pieces: piecesOf(({ removed }) => removed) },
  ];
}

function textOf({ pieces }: LineRow): string {
  return pieces.map(({ text }) => text).join("");
}

function withGaps(rows: readonly LineRow[]): readonly DiffRow[] {
  const isNear = Array.from(rows, () => false);
  for (const [place, { kind }] of rows.entries()) {
    if (kind !== "same") isNear.fill(true, Math.max(0, place - CONTEXT), place + CONTEXT + 1);
  }
  const result: DiffRow[] = [];
  for (const [place, row] of rows.entries()) {
    if (isNear[place]) result.push(row);
    else {
      const last = result.at(-1);
      const lines = last?.kind === "gap" ? last.lines + 1 : 1;
      if (last?.kind === "gap") result.pop();
      result.push({ kind: "gap", lines });
    }
  }
  return result;
}
