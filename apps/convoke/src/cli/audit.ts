import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";

const DEFAULT_LAST = "100";

export const auditCommand: Command = {
  name: "audit",
  summary: "Print the audit log of the servers on a database",
  usage: "[address] [options]",
  examples: [
    "convoke audit postgres://convoke@db/convoke",
    "convoke audit --last 1000 | jq -c 'select(.event == \"login.failed\")'",
  ],
  options: {
    last: { type: "string", value: "<n>", help: `How many entries (${DEFAULT_LAST})` },
  },
  environment: { DATABASE_URL: "The address of the database" },
  more: "Entries are JSON, one per line, oldest first. They are kept for 90 days, at most a million of them.",
  run: printAudit,
};

async function printAudit({ io, positionals, text }: CommandContext): Promise<number> {
  const [url = io.env["DATABASE_URL"] || undefined, ...others] = positionals;
  if (url === undefined || others.length > 0) {
    throw new UsageError("convoke audit needs the address of one database, or DATABASE_URL.");
  }
  const last = text("last") ?? DEFAULT_LAST;
  if (!/^[1-9]\d{0,6}$/.test(last)) {
    throw new UsageError("--last must be a whole number from 1 to 9999999.");
  }
  const { DatabaseError, readPostgresAudit } = await import("@convoke/backends/postgres");
  try {
    for (const { at, host, event, json } of await readPostgresAudit({ url, limit: Number(last) })) {
      const fields = JSON.parse(json) as object;
      io.stdout(`${JSON.stringify({ at: new Date(at).toISOString(), host, event, ...fields })}\n`);
    }
    return EXIT.done.code;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    io.stderr(`${error.message}\n`);
    return EXIT.noAnswer.code;
  }
}
