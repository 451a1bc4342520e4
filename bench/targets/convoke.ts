import { defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type Backend, createJsonLogger } from "@convoke/engine";
import { type Metrics, NO_METRICS } from "@convoke/protocol";
import { type AgentOptions, jwt, serve } from "@convoke/server";
import { once } from "node:events";
import { startKeeperThread } from "../../packages/backends/src/postgres/lease.ts";
import { noHints } from "../../packages/backends/src/postgres/no-hints.suite.ts";
import { openWithParts } from "../../packages/backends/src/postgres/postgres-backend.ts";
import { gateOpened, report } from "./control.ts";
import { GUARD, guardSecret } from "./guard.ts";
import { QUESTION, chunkText, parseOrder, pauseAfterChunk } from "./order.ts";

/**
 * The full server: validation, log, state machine, streams. Tasks are in the database
 * BENCH_DATABASE (with BENCH_HINTS=none: without hints between servers), in the folder BENCH_DATA,
 * or in memory. BENCH_GUARD says whether callers are authenticated, limited and measured;
 * BENCH_SIDE_EFFECTS=none, that the agent has none.
 */
const agent = defineAgent({
  name: "Bench",
  description: "Does what the message says.",
  // Servers that share a database continue each other's tasks.
  restart: process.env["BENCH_DATABASE"] !== undefined,
  sideEffects: process.env["BENCH_SIDE_EFFECTS"] !== "none",
  async *run({ text, task, ask, durable, signal }) {
    const order = parseOrder(text);
    if (order.manner === "wait") {
      await once(signal, "abort");
      aborted.resolve(performance.timeOrigin + performance.now());
      aborted = Promise.withResolvers();
      return;
    }
    if (order.manner === "ask") for (;;) await ask(QUESTION);
    if (order.manner === "end-turn") {
      const { id: taskId, contextId } = task;
      const status = { state: "input-required" } as const;
      yield { kind: "status-update", taskId, contextId, status, final: true };
      return;
    }
    if (order.gated === true) await gateOpened();
    for (let place = 0; place < order.count; place++) {
      yield chunkText(place);
      const pause = pauseAfterChunk(order);
      if (pause !== undefined) await pause;
      if (order.manner === "alone") await durable();
    }
  },
});

let aborted = Promise.withResolvers<number>();

const counts = { steps: 0, commits: 0 };

/** Counts steps and the commits that they share, as the backend reports them. */
const metrics: Metrics = {
  ...NO_METRICS,
  observe: (name, value) => {
    if (name !== "commitSteps") return;
    counts.commits += 1;
    counts.steps += value;
  },
};

/** What guards the server: by default what guards one on loopback. */
const GUARDS: Readonly<Record<string, Partial<AgentOptions>>> = {
  off: { rateLimits: false, metrics: false },
  on: {
    auth: [jwt({ issuer: GUARD.issuer, audience: GUARD.audience, secret: guardSecret() })],
    rateLimits: { write: { limit: 1_000_000, windowMs: 60_000 } },
    metrics: true,
  },
};

function openDatabase(address: string): Promise<Backend> {
  const options = { url: address, metrics };
  if (process.env["BENCH_HINTS"] !== "none") return openPostgresBackend(options);
  return openWithParts(options, { startKeeper: startKeeperThread, openBus: noHints });
}

const { BENCH_DATA: folder, BENCH_DATABASE: url } = process.env;
const server = await serve(agent, {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
  ...GUARDS[process.env["BENCH_GUARD"] ?? ""],
  // All connections come from one address.
  limits: { addressConnections: 20_000 },
  // The memory store keeps as many tasks as `convoke` keeps there. On disk nothing is pruned: some
  // lines measure the effect of the number of stored tasks.
  retention: { maxTasks: (folder ?? url) === undefined ? 1000 : Number.MAX_SAFE_INTEGER },
  openBackend: async () => {
    if (url !== undefined) return openDatabase(url);
    return folder === undefined ? createMemoryBackend() : openSqliteBackend({ folder, metrics });
  },
});
report(server.url, { counts, abortedAt: () => aborted.promise });
