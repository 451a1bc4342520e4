import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ATTACK_FAMILIES } from "./attacks/all.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

const rows = page
  .split("\n")
  .filter((line) => /^\| `[a-z0-9-]+` /.test(line))
  .map((line) =>
    line
      .slice(2, -2)
      .split(" | ")
      .map((cell) => cell.trim()),
  );

test("the security page has the outcome of every current attack, and ours held", () => {
  const expected = ATTACK_FAMILIES.flatMap(({ attacks }) =>
    attacks.map(({ id, sentence }) => [`\`${id}\``, sentence, "held"]),
  );

  expect(rows.map((cells) => cells.slice(0, 3))).toEqual(expected);
  expect(expected.length).toBeGreaterThanOrEqual(80);
});

test("no two attacks have the same id", () => {
  const ids = ATTACK_FAMILIES.flatMap(({ attacks }) => attacks.map(({ id }) => id));

  expect(new Set(ids).size).toBe(ids.length);
});
