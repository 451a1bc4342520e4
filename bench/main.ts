import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkField } from "./check.ts";
import { closeField, startField } from "./contenders.ts";
import { Database } from "./database.ts";
import { answerLength } from "./measures/answer-length.ts";
import { client } from "./measures/client.ts";
import { context } from "./measures/context.ts";
import { blockingSend } from "./measures/blocking-send.ts";
import { commits } from "./measures/commits.ts";
import { databaseSends } from "./measures/database-sends.ts";
import { fanOut } from "./measures/fan-out.ts";
import { firstByte } from "./measures/first-byte.ts";
import { followUpTurns } from "./measures/follow-up-turns.ts";
import { guard } from "./measures/guard.ts";
import { idleStreams } from "./measures/idle-streams.ts";
import { loop } from "./measures/loop.ts";
import { memoryBackend } from "./measures/memory-backend.ts";
import { replicas } from "./measures/replicas.ts";
import { restart } from "./measures/restart.ts";
import { start } from "./measures/start.ts";
import { sendsWithoutEffects } from "./measures/sends-without-effects.ts";
import { streams } from "./measures/streams.ts";
import { bindings } from "./measures/bindings.ts";
import { storedTasks } from "./measures/stored-tasks.ts";
import { tokenStreams } from "./measures/token-streams.ts";
import { tree } from "./measures/tree.ts";
import { type Row, printHead, printRow, short } from "./table.ts";
import type { Counts } from "./targets/control.ts";

/**
 * Prints the performance budget line by line with the measured values. `--quick` only shows that
 * everything works; `--only burst,restart` measures those lines; `--json <file>` also writes them to
 * a file, which `bench/chart.ts` draws.
 */
const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const size = <T>(full: T, quick: T): T => (flags.quick ? quick : full);

let started: Database | undefined;
const database = (): Database => (started ??= Database.start(data));

const sends = (atOnce: number): Promise<readonly Row[]> =>
  blockingSend(field, {
    atOnce,
    calls: size(1000, 200),
    rounds: size(9, 1),
    // The budgets are for many at a time: a message alone waits for two syncs, which cost more than all of
    // the SDK.
    ...(atOnce > 1 && { limits: { memory: 2.2, overPeer: 1.1 } }),
  });

const freeSends = (atOnce: number): Promise<readonly Row[]> =>
  sendsWithoutEffects(field, {
    atOnce,
    calls: size(1000, 200),
    rounds: size(9, 1),
    warmUps: size(12, 1),
    data,
    ...(atOnce > 1 && { limits: { memory: 2.2 } }),
  });

const shortStreams = (count: number): Promise<readonly Row[]> =>
  streams(field, {
    work: `stream of ${count} chunks, burst, one at a time`,
    order: { manner: "burst", count },
    atOnce: 1,
    streams: size(100, 10),
    rounds: size(9, 1),
    // V8 still compiles until then, as with messages: some functions after 12 000 calls.
    warmUps: size(140, 1),
    overPeer: 1,
  });

const TABLE: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  "send-1": () => sends(1),
  "blocking-send": () => sends(32),
  "send-128": () => sends(128),
  "free-1": () => freeSends(1),
  "free-32": () => freeSends(32),
  "free-128": () => freeSends(128),
  "short-10": () => shortStreams(10),
  "short-100": () => shortStreams(100),
  burst: () =>
    streams(field, {
      work: "stream of 1000 chunks, burst",
      order: { manner: "burst", count: 1000 },
      atOnce: 1,
      streams: size(8, 2),
      rounds: size(21, 1),
      limit: 1.5,
    }),
  "per-turn": () =>
    streams(field, {
      work: "stream of 1000 chunks, one per turn of the event loop, 16 streams",
      order: { manner: "turns", count: 1000 },
      atOnce: 16,
      streams: 16,
      rounds: size(9, 1),
      limit: 1.0,
    }),
  memory: () => memoryBackend(field, { rounds: size(9, 1), limit: 1 }),
  tokens: () =>
    tokenStreams(field, {
      atOnce: 100,
      windowMs: size(1000, 300),
      rounds: size(9, 1),
      warmUps: size(2, 0),
      data,
      limits: { cpu: 2, p50: 3 },
    }),
  length: () =>
    answerLength(field, { rounds: size(11, 1), limits: { growth: 1.15, seconds: 0.15 } }),
  "follow-up": () =>
    followUpTurns(field, {
      turns: size(1000, 100),
      share: size(100, 50),
      rounds: size(9, 1),
      limit: 1.2,
    }),
  "first-byte": () => firstByte(field, { count: 10_000, rounds: size(9, 1), limit: 5 }),
  "fan-out": () =>
    fanOut(field, {
      subscribers: 100,
      rounds: size(9, 1),
      flushes: { count: size(2000, 500), limit: 0.5 },
      alone: { count: size(300, 50), limit: 5 },
    }),
  idle: () => idleStreams({ streams: size(5000, 300), data, limit: 10 }),
  start: () => start({ starts: size(9, 1), data, limits: { seconds: 0.3, memory: 110 } }),
  restart: () =>
    restart({ tasks: size(10_000, 1000), events: 50, rounds: size(9, 1), data, limit: 2 }),
  bindings: () =>
    bindings(field, {
      calls: size(600, 100),
      chunks: 1000,
      rounds: size(5, 1),
      limits: { rest: 1.2, unary: 3.5, stream: 1.5 },
    }),
  guard: () => guard({ calls: size(1000, 100), rounds: size(21, 1), data, limit: 1.05 }),
  loop: () =>
    loop({
      tokens: size(5000, 500),
      answers: size(8, 2),
      rounds: size(11, 1),
      data,
      limits: { loop: 2, server: 5 },
    }),
  context: () =>
    context({
      contexts: [1_000, 100_000, 1_000_000],
      calls: size({ few: 4, many: 44 }, { few: 1, many: 3 }),
      rounds: size(9, 1),
      limit: 0.3,
    }),
  tree: () =>
    tree({ agents: 5, rounds: size(21, 2), data, limits: { eachWay: 300, cancel: 1000 } }),
  client: () =>
    client(field, {
      sends: size(1000, 200),
      streams: size(16, 2),
      rounds: size(11, 1),
      warmUps: size(10, 1),
      limits: { send: 1.5, event: 1.5 },
    }),
  stored: () =>
    storedTasks({
      few: 1000,
      many: size(1_000_000, 5000),
      calls: size(400, 50),
      rounds: size(7, 1),
      data,
      limit: 1.3,
    }),
  "postgres-commits": () =>
    commits({
      database: database(),
      data,
      tasks: 64,
      events: 8,
      flushes: size(200, 20),
      rounds: size(7, 1),
      limits: { perSecond: 60_000, p50: 2, two: 0.9 },
    }),
  "postgres-sends": () =>
    databaseSends(field, {
      database: database(),
      atOnce: 32,
      calls: size(1000, 200),
      rounds: size(9, 1),
      streams: { atOnce: 100, windowMs: size(1500, 300), rounds: size(2, 1) },
      limits: {
        ratio: 1.5,
        replica: 190,
        perSecond: 2500,
        alone: 4,
        first: { p50: 5, p99: 25 },
      },
    }),
  replicas: () =>
    replicas({
      database: database(),
      tokens: size(100, 20),
      cancels: size(21, 3),
      takeovers: size(3, 1),
      orphans: size(10_000, 500),
      limits: { notify: 4, poll: 30, cancel: 10, takeover: 5, orphans: 9 },
    }),
};

const lines = (flags.only?.split(",") ?? Object.keys(TABLE)).map((name) => {
  const measure = TABLE[name];
  if (measure === undefined)
    throw new Error(`there is no line "${name}": ${Object.keys(TABLE).join(", ")}`);
  return [name, measure] as const;
});

// On a real disk: a folder in memory would make the syncs free.
const data = mkdtempSync(join(process.cwd(), ".convoke-bench-"));
const field = await startField(join(data, "served"), size(8000, 1000));

try {
  console.log(
    `Node ${process.versions.node}; CPU of all threads; SQLite and Postgres sync every commit\n`,
  );
  if (flags.quick)
    console.log("A quick run: it shows that the benchmark works; the figures mean nothing.\n");
  await checkField(field, { sends: size(12_000, 200), streams: size(60, 5) });
  printHead();
  const perCommit: string[] = [];
  const rows: Row[] = [];
  for (const [name, measure] of lines) {
    const before = await field.ours["0.3"].target.ask<Counts>("counts");
    for (const row of await measure()) {
      rows.push(row);
      printRow(row);
      if (flags.json !== undefined) writeFileSync(flags.json, resultsText(rows));
    }
    const after = await field.ours["0.3"].target.ask<Counts>("counts");
    const commits = after.commits - before.commits;
    if (commits > 0) perCommit.push(`${name} ${short((after.steps - before.steps) / commits)}`);
  }
  console.log(`\nSteps per commit: ${perCommit.join(", ")}.`);
} finally {
  await closeField(field);
  started?.close();
  rmSync(data, { recursive: true, force: true });
}

/** What was measured, where and when. Written after each line, so that an interrupted run leaves the first ones. */
function resultsText(rows: readonly Row[]): string {
  const [cpu] = cpus();
  const machine = { node: process.versions.node, cpu: cpu?.model, cores: cpus().length };
  const facts = { at: new Date().toISOString(), ...machine, load: loadavg()[0], rows };
  return `${JSON.stringify(facts, undefined, 2)}\n`;
}
