import { expect, test } from "vitest";
import { lineText, toAnsi } from "./cells.ts";
import { renderDiff, renderDiffText } from "./diff.ts";

const lines = (count: number) => Array.from({ length: count }, (_, place) => `line ${place + 1}\n`);

test("a diff shows what changes with its numbers and a little context", () => {
  const before = lines(20);
  const after = before.with(6, "line seven\nand a half\n").toSpliced(17, 1);

  expect(renderDiff(before.join(""), after.join(""), 40).map(lineText)).toEqual([
    " 4   line 4",
    " 5   line 5",
    " 6   line 6",
    " 7 - line 7",
    " 7 + line seven",
    " 8 + and a half",
    " 9   line 8",
    "10   line 9",
    "11   line 10",
    "  ⋮",
    "16   line 15",
    "17   line 16",
    "18   line 17",
    "18 - line 18",
    "19   line 19",
    "20   line 20",
  ]);
});

test("a new file is all added, a deleted one all removed, in colour", () => {
  const added = renderDiff("", "a\n", 40).map((line) => toAnsi(line, true));
  const removed = renderDiff("a\n", "", 40).map(lineText);

  expect(added).toEqual(["\u001B[2m1 \u001B[22m\u001B[32m+ \u001B[39m\u001B[32ma\u001B[39m"]);
  expect(removed).toEqual(["1 - a"]);
});

test("a file that is too large to compare is shown as replaced", () => {
  const before = lines(2000).join("");
  const after = before.replaceAll("line", "row");

  expect(renderDiff(before, after, 40)).toHaveLength(4000);
});

test("a diff that the agent wrote cannot control the terminal", () => {
  const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+two\u001B[2J\n same";

  expect(renderDiffText(diff, 40).map((line) => toAnsi(line, true))).toEqual([
    "\u001B[1m--- a\u001B[22m",
    "\u001B[1m+++ b\u001B[22m",
    "\u001B[36m@@ -1 +1 @@\u001B[39m",
    "\u001B[31m-one\u001B[39m",
    "\u001B[32m+two[2J\u001B[39m",
    "\u001B[2m same\u001B[22m",
  ]);
});
