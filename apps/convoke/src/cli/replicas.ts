import type { Replica, WaitingForHost } from "@convoke/engine";
import { oneLine, printableJson } from "@convoke/protocol/internal";
import { DATABASE_ENVIRONMENT, readDatabaseUrl } from "../terminal/database-url.ts";
import { type Command, type CommandContext, EXIT } from "../terminal/command.ts";
import { type Colours, coloursFor, formatAge, note, table } from "../terminal/output.ts";

export const replicasCommand: Command = {
  name: "replicas",
  summary: "List the servers that share a Postgres database",
  usage: "[url] [options]",
  examples: [
    "convoke replicas postgres://convoke@db/convoke",
    "convoke replicas postgres://convoke@db/convoke --json",
  ],
  options: { json: { type: "boolean", help: "Print JSON instead of a table" } },
  environment: DATABASE_ENVIRONMENT,
  more: `A server is up while it renews its lease, and gone when the lease has ended: it was stopped, has
crashed, or does not reach the database. Others continue its tasks. Servers that are gone are listed
for an hour. Tasks of local agents are continued only on their host; those that wait for one without a
server are listed below.`,
  run: replicas,
};

async function replicas(context: CommandContext): Promise<number> {
  const { io, flag } = context;
  const url = readDatabaseUrl(context);
  const { readReplicas } = await import("@convoke/backends/postgres");
  const { replicas: all, waitingForHosts } = await readReplicas(url);
  const now = Date.now();
  if (flag("json")) {
    const replicaFacts = all.map((replica) => toFacts(replica));
    io.stdout(`${printableJson({ replicas: replicaFacts, waitingForHosts })}\n`);
  } else if (all.length === 0) note(context, "No server has used this database yet.");
  else {
    io.stdout(replicaTable(all, now, coloursFor(io, "stdout")));
    io.stdout(waitingLines(waitingForHosts));
  }
  return EXIT.done.code;
}

function toFacts({ id, host, software, startedAt, leaseMs, running }: Replica) {
  const since = new Date(startedAt).toISOString();
  return { id, isUp: leaseMs > 0, host, software, startedAt: since, leaseMs, running };
}

function waitingLines(waiting: readonly WaitingForHost[]): string {
  return waiting
    .map(({ host, tasks }) => {
      const what = tasks === 1 ? "1 task waits" : `${tasks} tasks wait`;
      return `\n${what} for a server on the host ${oneLine(host, 40)}.\n`;
    })
    .join("");
}

const HEADS = ["REPLICA", "STATE", "HOST", "SOFTWARE", "STARTED", "TASKS", "LEASE"] as const;

/** Those that are up, and then the others, the last that was up first. */
function replicaTable(all: readonly Replica[], now: number, colours: Colours): string {
  const { up = [], gone = [] } = Object.groupBy(all, ({ leaseMs }) =>
    leaseMs > 0 ? "up" : "gone",
  );
  const sorted = [...up, ...gone.toSorted((one, other) => other.leaseMs - one.leaseMs)];
  const rows = sorted.map(({ id, host, software, startedAt, leaseMs, running }) => [
    id,
    leaseMs > 0 ? "up" : "gone",
    oneLine(host, 40),
    oneLine(software, 30),
    `${ago(startedAt, now)} ago`,
    String(running),
    leaseMs > 0 ? `${(leaseMs / 1000).toFixed(1)}s left` : `ended ${ago(now + leaseMs, now)} ago`,
  ]);
  return table(HEADS, rows, colours);
}

function ago(at: number, now: number): string {
  return formatAge(new Date(at).toISOString(), now);
}
