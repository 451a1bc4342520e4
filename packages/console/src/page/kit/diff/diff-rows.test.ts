import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DiffRow, diffRows } from "./diff-rows.ts";

const line = fc.constantFrom("one", "two", "a b c", "a x c", "", "  three", "four\t");
const text = fc
  .array(line, { maxLength: 12 })
  .map((lines) => lines.map((one) => `${one}\n`).join(""));

describe("the rows of a diff", () => {
  test("contain every changed line of both texts, in order, with its number", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const rows = diffRows(before, after);
        const [old, fresh] = [before.split("\n"), after.split("\n")];

        for (const row of rows) {
          if (row.kind === "gap") continue;
          if (row.before !== undefined) expect(textOf(row)).toBe(old[row.before - 1]);
          if (row.after !== undefined) expect(textOf(row)).toBe(fresh[row.after - 1]);
        }
        expect(countOf(rows, "before")).toBe(old.length - 1);
        expect(countOf(rows, "after")).toBe(fresh.length - 1);
      }),
      { numRuns: 200 },
    );
  });

  test("mark the words that differ, and leave out lines far from a change", () => {
    const same = ["1", "2", "3", "4", "5"];
    const before = [...same, "pay 30 EUR", ""].join("\n");
    const after = [...same, "pay 90 EUR", ""].join("\n");

    expect(diffRows(before, after)).toEqual([
      { kind: "gap", lines: 2 },
      ...["3", "4", "5"].map((text, place) => ({
        kind: "same",
        before: place + 3,
        after: place + 3,
        pieces: [{ text, isChanged: false }],
      })),
      { kind: "removed", before: 6, pieces: paid("30") },
      { kind: "added", after: 6, pieces: paid("90") },
    ]);
  });
});

function paid(amount: string): object {
  return [
    { text: "pay ", isChanged: false },
    { text: amount, isChanged: true },
    { text: " EUR", isChanged: false },
  ];
}

function textOf(row: DiffRow): string {
  return row.kind === "gap" ? "" : row.pieces.map((piece) => piece.text).join("");
}

function countOf(rows: readonly DiffRow[], side: "before" | "after"): number {
  return rows
    .map((row) => (row.kind === "gap" ? row.lines : Number(row[side] !== undefined)))
    .reduce((sum, count) => sum + count, 0);
}
