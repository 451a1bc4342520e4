import { basename, dirname, join } from "node:path";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { isDatabaseUrl } from "../terminal/database-url.ts";
import { note } from "../terminal/output.ts";

export const backupCommand: Command = {
  name: "backup",
  summary: "Copy a data folder to a new folder, also while it is served",
  usage: "<folder> <new folder>",
  examples: ["convoke backup .convoke/my-agent /backup/monday"],
  options: {},
  more: `The copy has every event that was acknowledged before, all files of its tasks, push configs with their
tokens, the records of the agents and their sub-agents' tasks. It is a data folder, and has its name only
once it is complete. Protect it like the data itself. A database is backed up by its own tools, such as
pg_dump.`,
  run: backup,
};

export const restoreCommand: Command = {
  name: "restore",
  summary: "Copy a backup to an empty data folder",
  usage: "<backup> <folder>",
  examples: ["convoke restore /backup/monday .convoke/my-agent"],
  options: {},
  more: `Everything is restored, or nothing. Files that earlier versions wrote, such as tasks.backup, are restored,
too. Unfinished tasks continue when they are served.`,
  run: restore,
};

async function backup(context: CommandContext): Promise<number> {
  const [from, to] = readTwo(context, "what to back up, and then the folder to create");
  const advice = backupAdvice(from, to);
  if (advice !== undefined) return adviseInstead(context, advice);
  // Loaded on demand, so that other commands start faster.
  const { backupFolder } = await import("@convoke/backends/transfer");
  const { copyOptions, orNotPossible, tasksText } = await import("../host/transfer.ts");
  return orNotPossible(context, async () => {
    const { tasks } = await backupFolder({ from, to, ...copyOptions(context) });
    note(context, `Copied ${tasksText(tasks)} to ${to}.`);
  });
}

async function restore(context: CommandContext): Promise<number> {
  const [from, to] = readTwo(context, "the backup, and then the folder to restore it to");
  if (isDatabaseUrl(to)) {
    return adviseInstead(context, {
      problem:
        "A backup is restored to a folder, and a dump of a database by pg_restore. From a folder, tasks move to an empty database.",
      lines: [
        `convoke restore ${from} ./restored`,
        `convoke migrate ./restored '${withoutPassword(to)}'`,
      ],
    });
  }
  const { restoreFolder } = await import("@convoke/backends/transfer");
  const { copyOptions, orNotPossible, tasksText } = await import("../host/transfer.ts");
  return orNotPossible(context, async () => {
    const { tasks, leftOut } = await restoreFolder({ from, to, ...copyOptions(context) });
    for (const [table, rows] of leftOut) {
      note(context, `Left out: ${rows} of ${table}, which this version does not have.`);
    }
    note(context, `Restored ${tasksText(tasks)} to ${to}.`);
  });
}

interface Advice {
  readonly problem: string;
  readonly lines: readonly string[];
}

/** What to write in place of a line of earlier versions, which wrote a file, also from a database. */
function backupAdvice(from: string, to: string): Advice | undefined {
  const place = to.replace(/\.backup$/, "");
  if (isDatabaseUrl(from)) {
    const schema = new URL(from).searchParams.get("schema") ?? "convoke";
    const dump = `pg_dump --format=custom --schema='${schema}*' --file=${place}.dump '${withoutPassword(from)}'`;
    return {
      problem:
        "A database is backed up by its own tools, and after it the folder that CONVOKE_FILES names, if there is one.",
      lines: [dump, `rsync --archive "$CONVOKE_FILES/" ${join(dirname(place), "files")}/`],
    };
  }
  if (place === to) return undefined;
  const all = `${basename(place).replace(/\d[\d-]*$/, "")}*`;
  return {
    problem:
      "A backup is a folder now, so its name does not end in .backup. Old backups are only deleted after a new one.",
    lines: [
      `convoke backup ${from} ${place} &&`,
      `  find ${dirname(place)} -maxdepth 1 -name '${all}' -mtime +14 -exec rm -r {} +`,
    ],
  };
}

function adviseInstead(context: CommandContext, { problem, lines }: Advice): number {
  note(context, `${problem} Write instead:`);
  for (const line of lines) note(context, `  ${line}`);
  return EXIT.notStarted.code;
}

function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = "";
  for (const own of ["password", "schema", "prepare", "partitions"]) url.searchParams.delete(own);
  return url.href;
}

function readTwo({ positionals }: CommandContext, what: string): readonly [string, string] {
  const [first, second, more] = positionals;
  if (first === undefined || second === undefined || more !== undefined) {
    throw new UsageError(`Name ${what}.`);
  }
  return [first, second];
}
