import { expect, test } from "vitest";
import { ChildOutput } from "./child-output.ts";

test("lines are complete, also if they are split in the middle of a character", () => {
  const lines: string[] = [];
  const output = new ChildOutput((line) => void lines.push(line));
  const bytes = Buffer.from("first\nzweite Zeile mit ü\nlast");

  for (const byte of bytes) output.add(Buffer.from([byte]));
  output.end();

  expect(lines).toEqual(["first", "zweite Zeile mit ü", "last"]);
});

test("a flood is counted instead of written, and later lines are written again", () => {
  const lines: string[] = [];
  let now = 0;
  const output = new ChildOutput(
    (line) => void lines.push(line),
    () => now,
  );

  output.add(Buffer.from("x\n".repeat(1000)));
  now = 10_000;
  output.add(Buffer.from("calm again\n"));

  expect(lines).toHaveLength(52);
  expect(lines.slice(-2)).toEqual(["[950 more lines]", "calm again"]);
});
