import { printable } from "@convoke/protocol/internal";
import { type Line, type Style, span } from "./cells.ts";
import { wrap } from "./wrap.ts";

type Change = "same" | "added" | "removed";

interface DiffLine {
  readonly change: Change;
  readonly text: string;
  /** The number of the line, in the new file if it is there. */
  readonly number: number;
}

/** Lines around a change that are shown as well. */
const CONTEXT = 3;

const LOOKS: Readonly<Record<Change, readonly [string, readonly Style[]]>> = {
  same: [" ", ["dim"]],
  added: ["+", ["green"]],
  removed: ["-", ["red"]],
};

/** The change of a text as numbered lines in colour, with a little context. */
export function renderDiff(before: string, after: string, width: number): readonly Line[] {
  const lines = compare(split(before), split(after));
  const digits = String(Math.max(1, ...lines.map(({ number }) => number))).length;
  const isNear = lines.map((_, place) =>
    lines
      .slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1)
      .some(({ change }) => change !== "same"),
  );
  return lines.flatMap(({ change, text, number }, place) => {
    if (!isNear[place]) {
      const isGap = isNear[place - 1] === true && isNear.includes(true, place);
      return isGap ? [[span("  ⋮", "dim")]] : [];
    }
    const [mark, styles] = LOOKS[change];
    const first = [span(`${String(number).padStart(digits)} `, "dim"), span(`${mark} `, ...styles)];
    return wrap([span(text, ...styles)], width, { first, isCode: true });
  });
}

/** A unified diff that an agent wrote, in colour. */
export function renderDiffText(diff: string, width: number): readonly Line[] {
  return split(diff).flatMap((line) =>
    wrap([span(line, ...stylesOf(line))], width, { isCode: true }),
  );
}

function stylesOf(line: string): readonly Style[] {
  if (line.startsWith("+++") || line.startsWith("---")) return ["bold"];
  if (line.startsWith("@@")) return ["cyan"];
  if (line.startsWith("+")) return ["green"];
  return line.startsWith("-") ? ["red"] : ["dim"];
}

function split(text: string): readonly string[] {
  const lines = printable(text).split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Above this many pairs of lines the part that differs is shown as replaced as a whole. */
const MOST_PAIRS = 1_000_000;

function compare(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const shortest = Math.min(before.length, after.length);
  let start = 0;
  while (start < shortest && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shortest - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const middle =
    old.length * fresh.length > MOST_PAIRS
      ? [
          ...old.map((text) => change("removed", text)),
          ...fresh.map((text) => change("added", text)),
        ]
      : longestCommon(old, fresh);
  const same = (text: string): Omit<DiffLine, "number"> => change("same", text);
  const head = after.slice(0, start).map(same);
  return numbered([...head, ...middle, ...after.slice(after.length - end).map(same)]);
}

function change(kind: Change, text: string): Omit<DiffLine, "number"> {
  return { change: kind, text };
}

/** The shortest list of changes, by the longest common subsequence. */
function longestCommon(
  old: readonly string[],
  fresh: readonly string[],
): readonly Omit<DiffLine, "number">[] {
  const columns = fresh.length + 1;
  /** The length of the longest common subsequence of what follows each pair of lines. */
  const lengths = new Uint32Array((old.length + 1) * columns);
  const at = (row: number, column: number): number => lengths[row * columns + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = fresh.length - 1; column >= 0; column -= 1) {
      lengths[row * columns + column] =
        old[row] === fresh[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const found: Omit<DiffLine, "number">[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < fresh.length) {
    if (row < old.length && column < fresh.length && old[row] === fresh[column]) {
      found.push(change("same", old[row] ?? ""));
      row += 1;
      column += 1;
    } else if (
      row < old.length &&
      (column === fresh.length || at(row + 1, column) >= at(row, column + 1))
    ) {
      found.push(change("removed", old[row] ?? ""));
      row += 1;
    } else {
      found.push(change("added", fresh[column] ?? ""));
      column += 1;
    }
  }
  return found;
}

function numbered(lines: readonly Omit<DiffLine, "number">[]): readonly DiffLine[] {
  let old = 0;
  let fresh = 0;
  return lines.map((line) => {
    if (line.change !== "added") old += 1;
    if (line.change !== "removed") fresh += 1;
    return { ...line, number: line.change === "removed" ? old : fresh };
  });
}
