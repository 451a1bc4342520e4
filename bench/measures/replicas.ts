import { type RemoteAgent, connect } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database.ts";
import { median } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";
import { orderText } from "../targets/order.ts";

interface Options {
  readonly database: Database;
  /** How many events are read at another replica. */
  readonly tokens: number;
  readonly cancels: number;
  readonly takeovers: number;
  readonly orphans: number;
  /** In milliseconds; `takeover` and `orphans` in seconds. */
  readonly limits: {
    readonly notify: number;
    readonly poll: number;
    readonly cancel: number;
    readonly takeover: number;
    readonly orphans: number;
  };
}

/** What servers that share a database do for each other's tasks. */
export async function replicas(options: Options): Promise<readonly Row[]> {
  const { tokens, limits } = options;
  const unhinted = await withReplicas(options, { BENCH_HINTS: "none" }, async ([first, second]) =>
    row("… without hints", await readTimes(first, second, tokens), limits.poll),
  );
  return withReplicas(options, {}, async (both, url) => [
    row(
      "Postgres: reader at another replica, with NOTIFY",
      await readTimes(...both, tokens),
      limits.notify,
    ),
    unhinted,
    row(
      "Postgres: cancel at another replica, until the agent's signal fires",
      await cancelTimes(...both, options.cancels),
      limits.cancel,
    ),
    await takeoverRow(both, options),
    await orphansRow(both, url, options),
  ]);
}

/** Runs work with two servers on a schema of their own. */
async function withReplicas<T>(
  { database }: Options,
  env: NodeJS.ProcessEnv,
  work: (both: readonly [Target, Target], url: string) => Promise<T>,
): Promise<T> {
  const url = database.newSchema();
  const start = (): Promise<Target> => Target.start("convoke.ts", { BENCH_DATABASE: url, ...env });
  const both = await Promise.all([start(), start()]);
  try {
    return await work(both, url);
  } finally {
    await Promise.all(both.map((target) => target.close()));
  }
}

/** A line whose budget is for the median. */
function row(work: string, times: readonly number[], limit: number): Row {
  return {
    work,
    ours: `${short(median(times))} ms`,
    ratio: `at most ${short(Math.max(...times))} ms`,
    budget: `${limit} ms`,
    isMet: median(times) <= limit,
  };
}

/** How much later than at the replica that works on a task each of its chunks is read at another. */
async function readTimes(
  first: Target,
  second: Target,
  tokens: number,
): Promise<readonly number[]> {
  const [writer, reader] = [await connect(first.url), await connect(second.url)];
  const here = new Map<string, number>();
  const there = new Map<string, number>();
  let reading: Promise<void> | undefined;
  for await (const event of writer.stream(orderText({ manner: "tokens", count: tokens }))) {
    const taskId = event.kind === "task" ? event.id : "";
    if (event.kind === "task") reading ??= readChunks(reader.subscribe(taskId), there);
    noteChunk(event, here);
  }
  await reading;
  // Chunks from before the second stream began are in its snapshot.
  const times = Array.from(there, ([chunk, at]) => at - (here.get(chunk) ?? Number.NaN));
  if (times.length < tokens / 2) throw new Error(`only ${times.length} chunks were read`);
  return times;
}

type Events = ReturnType<RemoteAgent["stream"]>;
type ReceivedEvent = Events extends AsyncIterable<infer Event> ? Event : never;

async function readChunks(events: Events, chunks: Map<string, number>): Promise<void> {
  for await (const event of events) noteChunk(event, chunks);
}

function noteChunk(event: ReceivedEvent, chunks: Map<string, number>): void {
  if (event.kind !== "artifact-update") return;
  chunks.set(JSON.stringify(event.artifact.parts), performance.now());
}

async function cancelTimes(
  first: Target,
  second: Target,
  cancels: number,
): Promise<readonly number[]> {
  const [runner, canceler] = [await connect(first.url), await connect(second.url)];
  const times: number[] = [];
  while (times.length < cancels) {
    const aborted = first.ask<number>("aborted at");
    for await (const event of runner.stream(orderText({ manner: "wait", count: 0 }))) {
      if (event.kind !== "status-update" || event.status.state !== "working") continue;
      const began = performance.timeOrigin + performance.now();
      await canceler.cancel(event.taskId);
      times.push((await aborted) - began);
      break;
    }
  }
  return times;
}

/** What a crashed server wrote may still arrive for this long. */
const LATE_MS = 500;

/** From the end of a server to the first event of its task from another one. */
async function takeoverRow([first, second]: readonly Target[], options: Options): Promise<Row> {
  const seconds: number[] = [];
  for (let count = 0; count < options.takeovers; count++) {
    seconds.push(await takeoverTime(first!, second!));
    await first!.restart();
  }
  const { takeover: limit } = options.limits;
  return {
    work: "Postgres: takeover after SIGKILL, with a lease of 3 s, at most",
    ours: `${short(Math.max(...seconds))} s`,
    ratio: `p50 ${short(median(seconds))} s`,
    budget: `${limit} s`,
    isMet: Math.max(...seconds) <= limit,
  };
}

async function takeoverTime(first: Target, second: Target): Promise<number> {
  const taskId = await begin(first, orderText({ manner: "tokens", count: 1000 }));
  const reader = await connect(second.url);
  let killedAt = Number.POSITIVE_INFINITY;
  for await (const _ of reader.subscribe(taskId)) {
    const now = performance.now();
    if (now > killedAt + LATE_MS) {
      await reader.cancel(taskId);
      return (now - killedAt) / 1000;
    }
    if (killedAt < now) continue;
    killedAt = now;
    await first.kill();
  }
  throw new Error("the stream ended without its task");
}

/** Starts a task, and leaves its stream. */
async function begin(target: Target, order: string): Promise<string> {
  const agent = await connect(target.url);
  for await (const event of agent.stream(order)) if (event.kind === "task") return event.id;
  throw new Error("no task was created");
}

/** From the end of a process with many tasks until the two that are left have completed all of them. */
async function orphansRow(
  both: readonly Target[],
  url: string,
  { database, orphans, limits }: Options,
): Promise<Row> {
  const agent = await connect(both[0]!.url);
  const completed = async (): Promise<number> =>
    (await agent.list({ state: "completed", pageSize: 1 })).totalSize;
  const before = await completed();
  const crashing = await Target.start("orphans.ts", {
    BENCH_DATABASE: url,
    BENCH_TASKS: String(orphans),
  });
  const used = (): number =>
    both.reduce((sum, target) => sum + (target.busyCpu() ?? Number.NaN), database.cpu());
  const killedAt = performance.now();
  await crashing.kill();
  // The CPU of its connections is no longer counted when they have ended.
  await sleep(LATE_MS);
  const usedBefore = used();
  while ((await completed()) < before + orphans) await sleep(50);
  const seconds = (performance.now() - killedAt) / 1000;
  return {
    work: `Postgres: ${orphans} tasks of one crash, completed by two replicas`,
    ours: `${short(seconds)} s`,
    ratio: `${short((used() - usedBefore) / 1e6)} s of CPU`,
    budget: `${limits.orphans} s`,
    isMet: seconds <= limits.orphans,
  };
}
