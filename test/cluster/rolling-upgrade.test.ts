import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@convoke/engine";
import { type FunctionTurn, defineAgent } from "@convoke/runtime";
import { type Server, serve } from "@convoke/server";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { startKeeperHere } from "../../packages/backends/src/postgres/lease.ts";
import {
  openNotifyBus,
  openWithParts,
} from "../../packages/backends/src/postgres/postgres-backend.ts";
import { MIGRATIONS, type Migration } from "../../packages/backends/src/postgres/schema.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { rpc } from "../operating/a-measured-server.ts";

const databaseUrl = needsPostgres();

const REPLICAS = 3;
const STEPS = 6;
/** A bound on hanging. */
const WITHIN_MS = 60_000;

/** The migrations of two versions: the next one adds a table, a column, and an index of a large table. */
const OLD = MIGRATIONS;
const NEW: readonly Migration[] = [
  ...MIGRATIONS,
  `CREATE TABLE @.note (task bigint PRIMARY KEY, text text NOT NULL);
   ALTER TABLE @.task ADD COLUMN noted boolean`,
  { index: "task_noted", on: "@.task (noted) WHERE noted" },
];

/** A durable agent that needs more time than a server has when it stops. */
async function* count({ step, sleep: rest }: FunctionTurn): AsyncGenerator<string> {
  for (let number = 1; number <= STEPS; number++) {
    yield `${await step("count", async () => number)} `;
    await rest(150);
  }
}

/** Why agents have failed. */
const failures: unknown[] = [];

const logger: Logger = {
  ...memoryLogger(),
  error: (message, fields) => {
    if (message === "the agent failed") failures.push(fields?.["error"]);
  },
};

async function startServer(url: string, migrations: readonly Migration[]): Promise<Server> {
  const agent = { name: "Counter", description: "Counts slowly.", run: count };
  const server = await serve(defineAgent(agent), {
    port: 0,
    host: "127.0.0.1",
    logger,
    idempotency: "always",
    openBackend: (_, metrics) =>
      openWithParts(
        { url, metrics, software: migrations === NEW ? "new" : "old" },
        { startKeeper: startKeeperHere, openBus: openNotifyBus, migrations },
      ),
  });
  onTestFinished(() => server.close());
  return server;
}

interface CountedTask {
  readonly id: string;
  readonly status: {
    readonly state: string;
    /** Says why a task has failed. */
    readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[];
}

/**
 * Callers of several servers. Their load balancer tries the next server if one does not listen or
 * closes the connection, which is safe: a message that is sent twice has one task.
 */
class Callers {
  /** What callers got besides results, as `503 Retry-After: 1`. */
  readonly refusals = new Set<string>();
  readonly #servers: readonly Server[];
  #next = 0;

  constructor(servers: readonly Server[]) {
    this.#servers = servers;
  }

  /** Sends a message, again if it was refused, and waits until its task has ended. */
  async run(): Promise<CountedTask> {
    const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }] };
    const configuration = { returnImmediately: true };
    const sent = await this.#call<{ task: CountedTask }>("SendMessage", { message, configuration });
    let { task } = sent;
    while (!/COMPLETED|FAILED|CANCELED|REJECTED/.test(task.status.state)) {
      await sleep(50);
      task = await this.#call("GetTask", { id: task.id });
    }
    return task;
  }

  async #call<T>(method: string, params: object): Promise<T> {
    for (;;) {
      const { url } = this.#servers[this.#next++ % this.#servers.length]!;
      const response = await rpc(url, method, params).catch((error: unknown) => {
        if (!isConnectionLoss(error)) throw error;
      });
      if (response === undefined) continue;
      const { result, error } = (await response.json()) as { result?: T; error?: object };
      if (result !== undefined) return result;
      const retryAfter = response.headers.get("retry-after");
      this.refusals.add(
        response.status === 503 && retryAfter !== null
          ? "503 with Retry-After"
          : JSON.stringify(error),
      );
      await sleep(50);
    }
  }
}

function isConnectionLoss(error: unknown): boolean {
  return error instanceof TypeError && error.message === "fetch failed";
}

test(
  "servers are replaced by those of the next version one after the other, while callers see no error but 503 with Retry-After",
  async () => {
    const url = await databaseUrl();
    const servers = await Promise.all(
      Array.from({ length: REPLICAS }, () => startServer(url, OLD)),
    );
    const callers = new Callers(servers);
    let isUpgraded = false;
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        const ended: CountedTask[] = [];
        while (!isUpgraded) ended.push(await callers.run());
        // A task that only servers of the next version have seen.
        return [...ended, await callers.run()];
      }),
    );
    load.catch(() => undefined);

    for (const [place, old] of servers.entries()) {
      await sleep(300);
      await old.close({ drainMs: 100 });
      servers[place] = await startServer(url, NEW);
    }
    isUpgraded = true;
    const tasks = (await load).flat();

    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    onTestFinished(() => admin.end());
    const schema = new URL(url).searchParams.get("schema")!;
    const { rows: up } = await admin.query(
      `SELECT software FROM ${schema}.replica WHERE until > clock_timestamp()`,
    );
    const { rows: version } = await admin.query(
      `SELECT value FROM ${schema}.meta WHERE key = 'schema_version'`,
    );
    expect(version).toEqual([{ value: String(NEW.length) }]);
    expect(up).toEqual(Array.from({ length: REPLICAS }, () => ({ software: "new" })));
    const ends = tasks.map(({ status: { state, message }, artifacts = [] }) => {
      const said = [...artifacts, ...(message === undefined ? [] : [message])];
      return [state, said.flatMap(({ parts }) => parts.map(({ text }) => text)).join("")];
    });
    expect(failures).toEqual([]);
    const counted = Array.from({ length: STEPS }, (_, index) => `${index + 1} `).join("");
    expect(new Set(ends.map((end) => end.join(": ")))).toEqual(
      new Set([`TASK_STATE_COMPLETED: ${counted}`]),
    );
    expect([...callers.refusals].filter((refusal) => refusal !== "503 with Retry-After")).toEqual(
      [],
    );
  },
  WITHIN_MS,
);
