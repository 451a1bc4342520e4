import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { FILES_OPTION } from "./backup.ts";
import { note } from "../terminal/output.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Move the tasks of a data folder to a Postgres database, or back",
  usage: "<folder or address> <address or folder> | --undo <folder or address>",
  examples: [
    "convoke migrate .convoke/my-agent postgres://convoke@db/convoke",
    "convoke migrate postgres://convoke@db/convoke ./tasks",
    "convoke migrate --undo .convoke/my-agent",
  ],
  options: {
    ...FILES_OPTION,
    undo: {
      type: "boolean",
      help: "Use a folder or database again that was moved, as it was then; or empty one that is not complete",
    },
  },
  more: `Stop the servers first. Tasks with their logs and files, the ids of messages, push configs, API
keys, the catalogue, the records of the agents and their sub-agents' tasks are copied and then
compared. After that, servers refuse the place
that was moved, and name the other one. A command that was cut off goes on when it is run again.`,
  run: migrate,
};

async function migrate(context: CommandContext): Promise<number> {
  const [from, to, more] = context.positionals;
  if (from === undefined)
    throw new UsageError("Name the data folder or the address of the database.");
  if (context.flag("undo")) return undo(context, from, to);
  if (to === undefined || more !== undefined) {
    throw new UsageError(
      "Name what to move, and then where to: a data folder and the address of a database.",
    );
  }
  // Loaded on demand, so that other commands start faster.
  const { migrateStores } = await import("@convoke/backends/transfer");
  const { noteAgentIds, noteLeftOut, orNotPossible, progressPrinter, tasksText } =
    await import("../host/transfer.ts");
  const { signal } = context.io;
  return orNotPossible(context, async () => {
    const moved = await migrateStores({
      from,
      to,
      files: context.text("files"),
      signal,
      onProgress: progressPrinter(context),
    });
    noteLeftOut(context, moved);
    noteAgentIds(context, from);
    note(
      context,
      `Moved and compared ${tasksText(moved.tasks)}. Serve them from there from now on.`,
    );
  });
}

async function undo(context: CommandContext, place: string, more?: string): Promise<number> {
  if (more !== undefined) throw new UsageError(`"${more}" is an unexpected argument.`);
  const { undoMove } = await import("@convoke/backends/transfer");
  const { orNotPossible } = await import("../host/transfer.ts");
  let isUndone = false;
  const code = await orNotPossible(context, async () => {
    isUndone = await undoMove(place);
  });
  if (code !== EXIT.done.code) return code;
  note(context, isUndone ? "It can be used again, as it was before." : "It was not moved.");
  return code;
}
