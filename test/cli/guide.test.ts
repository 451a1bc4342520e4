import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { COMMANDS } from "../../apps/convoke/src/cli/commands.ts";
import { type Command, EXIT } from "../../apps/convoke/src/terminal/command.ts";
import { PAGES, blocksOf } from "../docs/docs-pages.ts";

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

test("every command line in the docs has a command and options that exist", async () => {
  const lines = PAGES.flatMap((page) => blocksOf(page, "sh")).flatMap(commandLines);

  const unknown = await Promise.all(
    lines.map(async (line) => {
      const [, name = "", rest = ""] = /^convoke ([a-z]+)(.*)$/.exec(line) ?? [];
      const entry = await COMMANDS.get(name)?.();
      if (entry === undefined) return [line];
      const commands = "commands" in entry ? entry.commands : [entry, ...(entry.subcommands ?? [])];
      const known = new Set(commands.flatMap(({ options }: Command) => Object.keys(options)));
      const used = Array.from(rest.matchAll(/ --([a-z0-9-]+)/g), ([, option = ""]) => option);
      return used.some((option) => !known.has(option.replace(/^no-/, "")) && !known.has(option))
        ? [line]
        : [];
    }),
  );

  expect(lines.length).toBeGreaterThan(100);
  expect(unknown.flat()).toEqual([]);
});

/** The calls of `convoke` in lines of shell code, without quoted text, comments and what follows. */
function commandLines(code: string): readonly string[] {
  const lines = code
    .replaceAll("\\\n", " ")
    .replaceAll(/"[^"]*"|'[^']*'/g, "…")
    .replaceAll(/ #.*$/gm, "");
  return Array.from(lines.matchAll(/(?<![\w/])convoke [a-z][^|;&)>\n]*/g), ([line]) => line);
}
