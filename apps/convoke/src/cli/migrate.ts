import { type Command, type CommandContext, UsageError } from "../terminal/command.ts";
import { isDatabaseUrl } from "../terminal/database-url.ts";
import { note } from "../terminal/output.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Move the tasks of a data folder to an empty Postgres database",
  usage: "<folder> <address>",
  examples: ["convoke migrate .convoke/my-agent postgres://convoke@db/convoke"],
  options: {
    files: {
      type: "string",
      value: "<folder>",
      help: "Where servers will find the large files: what CONVOKE_FILES will name",
    },
  },
  more: `Stop the server first. Tasks with their logs and files, the ids of messages, push configs, API keys and
their sub-agents' tasks are copied. After that, servers refuse the folder and name the database. A command that
was cut off completes the move when it is run again. There is no way back: a folder is used again, as it
was before, once its transfer.json is deleted.`,
  run: migrate,
};

async function migrate(context: CommandContext): Promise<number> {
  const [from, to, more] = context.positionals;
  const isOneWay =
    from !== undefined && !isDatabaseUrl(from) && to !== undefined && isDatabaseUrl(to);
  if (!isOneWay || more !== undefined) {
    throw new UsageError(
      "Name a data folder, and then the address of an empty database. Tasks do not move in another direction.",
    );
  }
  // Loaded on demand, so that other commands start faster.
  const { copyToDatabase } = await import("@convoke/backends/transfer");
  const { copyOptions, noteAgentIds, orNotPossible, tasksText } =
    await import("../host/transfer.ts");
  return orNotPossible(context, async () => {
    const files = context.text("files");
    const { tasks } = await copyToDatabase({ from, to, files, ...copyOptions(context) });
    noteAgentIds(context, from);
    note(context, `Moved ${tasksText(tasks)}. Serve them from there from now on.`);
  });
}
