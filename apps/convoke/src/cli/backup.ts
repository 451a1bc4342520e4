import { type Command, type CommandContext, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";

/** For a database only: a data folder has its files inside. */
export const FILES_OPTION = {
  files: { type: "string", value: "<folder>", help: "Where the large files of a database are" },
} as const;

export const backupCommand: Command = {
  name: "backup",
  summary: "Write all tasks of a data folder or database to a file, also while it is served",
  usage: "<folder or address> <file>",
  examples: [
    "convoke backup .convoke/my-agent tasks.backup",
    "convoke backup postgres://convoke@db/convoke tasks.backup",
  ],
  options: FILES_OPTION,
  more: `The file has everything as it was at one moment: tasks with their logs and files, the ids of messages, push
configs with their tokens, the records of the agents and their sub-agents' tasks. It is compressed and has a
checksum. Protect it like the data itself.`,
  run: backup,
};

export const restoreCommand: Command = {
  name: "restore",
  summary: "Restore a backup into an empty data folder or database",
  usage: "<file> <folder or address>",
  examples: [
    "convoke restore tasks.backup .convoke/my-agent",
    "convoke restore tasks.backup postgres://convoke@db/convoke",
  ],
  options: FILES_OPTION,
  more: `The checksum is verified first. Then everything is restored, or nothing. A backup of a folder can be
restored into a database, and the other way round. Unfinished tasks continue when they are served.`,
  run: restore,
};

async function backup(context: CommandContext): Promise<number> {
  const [from, file] = readTwo(context, "what to back up, and then the file to write");
  // Loaded on demand, so that other commands start faster.
  const { backupStores } = await import("@convoke/backends/transfer");
  const { orNotPossible, progressPrinter, tasksText } = await import("../host/transfer.ts");
  const { signal } = context.io;
  return orNotPossible(context, async () => {
    const { tasks } = await backupStores({
      from,
      file,
      files: context.text("files"),
      signal,
      onProgress: progressPrinter(context),
    });
    note(context, `Wrote ${tasksText(tasks)} to ${file}.`);
  });
}

async function restore(context: CommandContext): Promise<number> {
  const [file, to] = readTwo(
    context,
    "the backup, and then the folder or address to restore it to",
  );
  const { restoreStores } = await import("@convoke/backends/transfer");
  const { noteLeftOut, orNotPossible, progressPrinter, tasksText } =
    await import("../host/transfer.ts");
  const { signal } = context.io;
  return orNotPossible(context, async () => {
    const restored = await restoreStores({
      file,
      to,
      files: context.text("files"),
      signal,
      onProgress: progressPrinter(context),
    });
    noteLeftOut(context, restored);
    note(context, `Restored ${tasksText(restored.tasks)}.`);
  });
}

function readTwo({ positionals }: CommandContext, what: string): readonly [string, string] {
  const [first, second, more] = positionals;
  if (first === undefined || second === undefined || more !== undefined) {
    throw new UsageError(`Name ${what}.`);
  }
  return [first, second];
}
