import { printableJson } from "@convoke/protocol/internal";
import { type Command, type CommandContext, type CommandGroup, EXIT } from "../terminal/command.ts";
import { DATABASE_ENVIRONMENT, readDatabaseUrl } from "../terminal/database-url.ts";

const migrateCommand: Command = {
  name: "database migrate",
  summary: "Create or update the tables of a Postgres database",
  usage: "[url] [options]",
  examples: [
    "convoke database migrate postgres://admin@db/convoke",
    "convoke database migrate postgres://admin@db/convoke --grant convoke",
  ],
  options: {
    grant: {
      type: "string",
      value: "<user>",
      help: "Let this user of the database use the tables, for servers that may not change them",
    },
    json: { type: "boolean", help: "Print JSON instead of text" },
  },
  environment: DATABASE_ENVIRONMENT,
  more: `Servers do this when they start, unless they were started with --no-migrate. Changes only add to the
tables, so servers of the version before go on and can be replaced one after the other.`,
  run: migrate,
};

const checkCommand: Command = {
  name: "database check",
  summary: "Examine whether a Postgres database suits servers that share it",
  usage: "[url] [options]",
  examples: [
    "convoke database check postgres://convoke@db/convoke",
    "convoke database check postgres://convoke@db/convoke --json",
  ],
  options: { json: { type: "boolean", help: "Print JSON instead of text" } },
  environment: DATABASE_ENVIRONMENT,
  more: `It looks at the version, the schema and the rights of the user, the clock, notifications, the time of a
commit, connections and standbys, and changes nothing. The exit code is 0 without problems, 1 with
problems, and 3 if the database does not answer.`,
  run: check,
};

export const databaseCommands: CommandGroup = {
  name: "database",
  summary: "Prepare and examine a database that several servers share",
  commands: [migrateCommand, checkCommand],
};

async function migrate(context: CommandContext): Promise<number> {
  const { io, flag, text } = context;
  const url = readDatabaseUrl(context);
  const { migrateDatabase } = await import("@convoke/backends/postgres");
  const versions = await migrateDatabase({ url, grant: text("grant") });
  io.stdout(`${flag("json") ? printableJson(versions) : migrated(versions)}\n`);
  return EXIT.done.code;
}

function migrated({ from, to }: { readonly from: number; readonly to: number }): string {
  if (from === to) return `The tables have version ${to} already.`;
  return from === 0
    ? `The tables were created, with version ${to}.`
    : `The tables were updated from version ${from} to ${to}.`;
}

async function check(context: CommandContext): Promise<number> {
  const url = readDatabaseUrl(context);
  const { examineDatabase } = await import("../doctor/examine-database.ts");
  const { printFindings, withProgress } = await import("../doctor/report.ts");
  const { title, findings } = await withProgress(context, (onStep) => examineDatabase(url, onStep));
  const verdict = findings.hasProblems ? "problems" : "healthy";
  printFindings(context, { title, verdict, findings });
  return findings.hasProblems ? EXIT.taskFailed.code : EXIT.done.code;
}
