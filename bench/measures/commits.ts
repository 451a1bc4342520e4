import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend } from "@convoke/engine";
import type { Database } from "../database.ts";
import { median, percentile, inTurn } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { chunkText } from "../targets/order.ts";
import { diskTimes, syncTimes } from "./disk.ts";

interface Options {
  readonly database: Database;
  readonly data: string;
  readonly tasks: number;
  /** The number of events in each step. */
  readonly events: number;
  /** The number of steps of each task in one round. */
  readonly flushes: number;
  readonly rounds: number;
  /** `p50` in milliseconds, without the disk; `two`: two replicas over one. */
  readonly limits: { readonly perSecond: number; readonly p50: number; readonly two: number };
}

/** The number of tasks that share a commit when its time is measured. */
const GROUP = 16;

/**
 * Appending to many logs through the storage alone, in this process: in SQLite, in Postgres, and in
 * Postgres from two replicas.
 */
export async function commits(options: Options): Promise<readonly Row[]> {
  const { database, data, tasks, events, rounds, limits } = options;
  const shared = database.newSchema();
  const sqlite = await Log.open(
    [await openSqliteBackend({ folder: mkdtempSync(join(data, "commits-")) })],
    options,
  );
  const one = await Log.open([await openPostgresBackend({ url: database.newSchema() })], options);
  const two = await Log.open(
    [await openPostgresBackend({ url: shared }), await openPostgresBackend({ url: shared })],
    options,
  );
  const logs = [sqlite, one, two];
  for (let round = 0; round <= rounds; round++) {
    for (const log of inTurn(logs, round)) {
      // The first round warms up.
      await log.sample(round > 0);
    }
  }
  await Promise.all(logs.map((log) => log.close()));
  const disk = diskTimes(syncTimes(data, 100));
  const mostMs = limits.p50 + disk.p50;
  const share = median(two.rates.map((rate, round) => rate / one.rates[round]!));
  return [
    {
      work: `Postgres: durable events/s, ${tasks} tasks, ${events} events per flush`,
      ours: `${short(median(one.rates))} /s`,
      ratio: `SQLite ${short(median(sqlite.rates))} /s`,
      budget: `${limits.perSecond} /s`,
      isFloor: true,
      isMet: median(one.rates) >= limits.perSecond,
    },
    {
      work: "… CPU per event of process and database",
      ours: `${short(median(one.costs))} µs`,
      ratio: `SQLite ${short(median(sqlite.costs))} µs`,
    },
    {
      work: "… two replicas together, over one",
      ours: `${short(median(two.rates))} /s`,
      ratio: short(share),
      budget: String(limits.two),
      isFloor: true,
      isMet: share >= limits.two,
    },
    {
      work: `Postgres: group commit of ${GROUP} segments, p50`,
      ours: `${short(percentile(one.times, 50))} ms`,
      ratio: `SQLite ${short(percentile(sqlite.times, 50))} ms`,
      budget: `${limits.p50} ms + ${short(disk.p50)} (disk)`,
      isMet: percentile(one.times, 50) <= mostMs,
    },
    {
      work: "… p99",
      ours: `${short(percentile(one.times, 99))} ms`,
      ratio: `SQLite ${short(percentile(sqlite.times, 99))} ms`,
    },
  ];
}

/** Tasks that grow, spread over the replicas of one storage. */
class Log {
  /** Events per second, and CPU of each event in microseconds, by round. */
  readonly rates: number[] = [];
  readonly costs: number[] = [];
  /** Milliseconds of each commit of a group. */
  readonly times: number[] = [];
  readonly #backends: readonly Backend[];
  readonly #options: Options;
  readonly #heads: number[];

  private constructor(backends: readonly Backend[], options: Options) {
    this.#backends = backends;
    this.#options = options;
    this.#heads = Array.from({ length: options.tasks }, () => 0);
  }

  /** Creates the tasks. */
  static async open(backends: readonly Backend[], options: Options): Promise<Log> {
    const log = new Log(backends, options);
    await Promise.all(log.#heads.map((_, task) => log.#append(task)));
    return log;
  }

  async sample(isMeasured: boolean): Promise<void> {
    const { tasks, events, flushes, database } = this.#options;
    const before = { cpu: process.cpuUsage(), database: database.cpu(), at: performance.now() };
    await Promise.all(
      this.#heads.map(async (_, task) => {
        for (let flush = 0; flush < flushes; flush++) await this.#append(task);
      }),
    );
    const seconds = (performance.now() - before.at) / 1000;
    const { user, system } = process.cpuUsage(before.cpu);
    const cpu = user + system + database.cpu() - before.database;
    const times = await this.#groups(flushes);
    if (!isMeasured) return;
    const written = tasks * events * flushes;
    this.rates.push(written / seconds);
    this.costs.push(cpu / written);
    this.times.push(...times);
  }

  async close(): Promise<void> {
    await Promise.all(this.#backends.map((backend) => backend.close()));
  }

  /** Commits one group after the other, at the first replica. */
  async #groups(count: number): Promise<readonly number[]> {
    const group = Array.from({ length: GROUP }, (_, place) => place * this.#backends.length);
    const times: number[] = [];
    for (let done = 0; done < count; done++) {
      const at = performance.now();
      await Promise.all(group.map((task) => this.#append(task)));
      times.push(performance.now() - at);
    }
    return times;
  }

  async #append(task: number): Promise<void> {
    const head = this.#heads[task]!;
    const taskId = `task-${task}`;
    const result = await this.#backends[task % this.#backends.length]!.commit({
      taskId,
      epoch: 1,
      events: Array.from({ length: this.#options.events }, (_, place) =>
        eventAt(taskId, head + place),
      ),
      state: "working",
      statusAt: 1,
      listed: true,
      ...(head > 0
        ? { after: { head, epoch: 1 } }
        : {
            create: { owner: "bench", contextId: taskId, agent: "Bench", createdAt: 1 },
            running: true,
          }),
    });
    if (result.kind !== "committed") throw new Error(`a step was refused: ${result.kind}`);
    this.#heads[task] = result.head;
  }
}

function eventAt(taskId: string, place: number): string {
  const artifact = { artifactId: "answer-1", parts: [{ kind: "text", text: chunkText(place) }] };
  return JSON.stringify({
    kind: "artifact-update",
    taskId,
    contextId: taskId,
    artifact,
    append: true,
  });
}
