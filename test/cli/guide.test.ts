import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMMANDS } from "../../apps/convoke/src/cli/commands.ts";
import { EXIT } from "../../apps/convoke/src/terminal/command.ts";

const guide = readFileSync(new URL("../../docs/guide/cli.md", import.meta.url), "utf8");

test("the guide has the exit codes of the command", () => {
  const rows = [...guide.matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)];

  expect(rows.map(([, code, meaning]) => ({ code: Number(code), meaning }))).toEqual(
    Object.values(EXIT),
  );
});

test("the guide lists every command that calls an agent, and all its options", async () => {
  const loaded = await Promise.all([...COMMANDS.values()].map((load) => load()));
  const calling = loaded.filter(({ name }) => !["serve", "keys"].includes(name));
  const options = calling.flatMap((entry) =>
    "commands" in entry
      ? entry.commands.flatMap((command) => Object.keys(command.options))
      : Object.keys(entry.options),
  );
  const own = ["id", "receipt", "state", "limit"];

  for (const { name } of calling) expect(guide).toMatch(new RegExp(`\`${name}\\b`));
  for (const option of new Set(options)) {
    if (!own.includes(option)) expect(guide).toContain(`--${option}`);
  }
});
