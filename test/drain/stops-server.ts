import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createJsonLogger } from "@convoke/engine";
import { type FunctionTurn, StepUnknownError, defineAgent } from "@convoke/runtime";
import { serve } from "@convoke/server";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom } from "../harness/random.ts";
import { reportReady } from "../harness/report-ready.ts";

const { CONVOKE_RECORDS = "", CONVOKE_DATA, DATABASE_URL, CONVOKE_DRAIN_MS } = process.env;

/** What is on disk before a stop ends the process, for the test to judge. */
function record(fact: Readonly<Record<string, unknown>>): void {
  const line = JSON.stringify({ ...fact, pid: process.pid, at: Date.now() });
  appendFileSync(CONVOKE_RECORDS, `${line}\n`);
}

/** Runs steps of 5 to 300 ms without keys, as long as its message says, and answers which of them were cut. */
async function work({ text, task, step }: FunctionTurn): Promise<string> {
  const [seed = 0, steps = 0] = text.split(" ").map(Number);
  const random = randomFrom(seed);
  const cut: number[] = [];
  try {
    for (let n = 1; n <= steps; n++) {
      const ms = 5 + random() * 295;
      try {
        await step("work", async () => {
          record({ kind: "begin", task: task.id, n });
          await sleep(ms);
          record({ kind: "end", task: task.id, n });
        });
      } catch (error) {
        if (!(error instanceof StepUnknownError)) record({ kind: "caught", task: task.id });
        cut.push(n);
      }
    }
  } finally {
    record({ kind: "finally", task: task.id });
  }
  return cut.join(" ");
}

const server = await serve(defineAgent({ name: "Worker", description: "Works.", run: work }), {
  port: 0,
  host: "127.0.0.1",
  logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
  openBackend: (_, metrics) =>
    DATABASE_URL === undefined
      ? openSqliteBackend({ folder: CONVOKE_DATA ?? "" })
      : openPostgresBackend({ url: DATABASE_URL, metrics }),
  idempotency: "always",
});
process.once("SIGTERM", () => {
  record({ kind: "stop" });
  void server.close({ drainMs: Number(CONVOKE_DRAIN_MS) }).then(() => process.exit());
});
reportReady(server.url);
