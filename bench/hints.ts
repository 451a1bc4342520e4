// How long after a commit a reader at another server has the events:
//
//     DATABASE_URL=postgres://… npm run bench:hints
//
// By notifications of the database, and without hints. Rounds are interleaved, so that a noisy
// moment affects both. It uses schemas of its own.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "@convoke/engine";
import { startKeeperThread } from "../packages/backends/src/postgres/lease.ts";
import { noHints } from "../packages/backends/src/postgres/no-hints.suite.ts";
import {
  openNotifyBus,
  openWithParts,
} from "../packages/backends/src/postgres/postgres-backend.ts";

const { DATABASE_URL: url } = process.env;
if (url === undefined) throw new Error("set DATABASE_URL");

const ROUNDS = 300;
/** Between two commits of a task, about as between the flushes of a stream. */
const PAUSE_MS = 20;

/** The ways to hear of a commit, and their budgets for the median in milliseconds. */
const WAYS = [
  { name: "NOTIFY and a read", openBus: openNotifyBus, budget: 4 },
  { name: "looking only", openBus: noHints, budget: 30 },
];

const pairs = await Promise.all(WAYS.map((way, index) => openPair(way, `bench_hints_${index}`)));
for (let round = 0; round < ROUNDS; round++) for (const pair of pairs) await pair.sample();
for (const { name, budget, samples, close } of pairs) {
  const sorted = samples.toSorted((one, other) => one - other);
  const at = (part: number): string => sorted[Math.floor(part * sorted.length)]!.toFixed(2);
  console.log(`${name}: p50 ${at(0.5)} ms (budget ${budget}), p95 ${at(0.95)} ms`);
  await close();
}

/** A writer and a reader of one task. */
async function openPair({ name, openBus, budget }: (typeof WAYS)[number], schema: string) {
  const options = { url: url!, schema };
  const open = (): Promise<Backend> =>
    openWithParts(options, { startKeeper: startKeeperThread, openBus });
  const [writer, reader] = [await open(), await open()];
  const step = { taskId: randomUUID(), epoch: 1, state: "working", statusAt: 1 } as const;
  const create = { owner: "bench", contextId: "bench", agent: "bench", createdAt: 1 };
  await writer.commit({ ...step, listed: false, create, events: ['{"kind":"first"}'] });
  let head = 1;
  let arrived = Promise.withResolvers<void>();
  const readOn = async (newest: number): Promise<void> => {
    await reader.read(step.taskId, newest - 1, 256, 65_536);
    if (newest === head + 1) arrived.resolve();
  };
  reader.watch(step.taskId, (newest) => void readOn(newest));
  const samples: number[] = [];
  return {
    name,
    budget,
    samples,
    sample: async (): Promise<void> => {
      await sleep(PAUSE_MS * (0.5 + Math.random()));
      arrived = Promise.withResolvers();
      const events = [`{"kind":"artifact-update","text":"${randomUUID()}"}`];
      await writer.commit({ ...step, listed: false, events });
      const committedAt = performance.now();
      await arrived.promise;
      head += 1;
      samples.push(performance.now() - committedAt);
    },
    close: async (): Promise<void> => {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}
