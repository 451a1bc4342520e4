import { readFileSync } from "node:fs";
import { FAULT_GROUPS, FAULT_SCENARIOS } from "../../client-faults/index.ts";
import { describe, expect, test } from "vitest";
import { CLIENTS } from "./table.ts";

const page = readFileSync(new URL("../../../docs/client/faults.md", import.meta.url), "utf8");

const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) =>
    line
      .slice(2, -2)
      .split(" | ")
      .map((cell) => cell.trim()),
  );

describe("the page about faults", () => {
  test("has every current scenario in its group", () => {
    const titles = page.match(/(?<=^### ).*$/gm);

    expect(titles).toEqual(FAULT_GROUPS.map(({ title }) => title));
    expect(rows.map(([id, sentence]) => ({ id, sentence }))).toEqual(
      FAULT_SCENARIOS.map(({ id, sentence }) => ({ id: `\`${id}\``, sentence })),
    );
  });

  test("has the outcome of each client, and ours is always right", () => {
    expect(new Set(rows.map((cells) => cells.length))).toEqual(new Set([2 + CLIENTS.length]));
    expect(rows.filter(([, , ours]) => ours !== "right")).toEqual([]);
  });

  test("has the current number of runs", () => {
    const runs = FAULT_SCENARIOS.reduce((sum, { speaks }) => sum + speaks.length, 0);

    expect(page).toMatch(new RegExp(`^\\| ours +\\| ${runs} +\\| ${runs} +\\| 0 `, "m"));
  });
});
