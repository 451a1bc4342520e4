import { checkTask } from "../check.ts";
import { inFlight, send } from "../client.ts";
import { type Contender, type Field, bothVersions } from "../contenders.ts";
import type { Database } from "../database.ts";
import { costOf, interleave, median, percentile } from "../rounds.ts";
import { type Row, short } from "../table.ts";
import { Target } from "../target.ts";
import { tokenSession } from "./token-streams.ts";

interface Options {
  readonly database: Database;
  readonly atOnce: number;
  readonly calls: number;
  readonly rounds: number;
  /** The number of streams, and how long new ones among them are measured. */
  readonly streams: { readonly atOnce: number; readonly windowMs: number; readonly rounds: number };
  readonly limits: {
    readonly ratio: number;
    readonly replica: number;
    readonly perSecond: number;
    readonly alone: number;
    readonly first: { readonly p50: number; readonly p99: number };
  };
}

interface Sends {
  /** CPU of the server and of the database for one send, in microseconds. */
  readonly replica: number;
  readonly database: number;
  readonly perSecond: number;
  /** Milliseconds of one send alone. */
  readonly alone: number;
}

/** Messages and new streams, with the tasks in Postgres and in SQLite. */
export async function databaseSends(field: Field, options: Options): Promise<readonly Row[]> {
  const { database, atOnce, rounds, limits } = options;
  const target = await Target.start("convoke.ts", { BENCH_DATABASE: database.newSchema() });
  try {
    const postgres = bothVersions(target)["1.0"];
    const sqlite = field.ours["1.0"];
    // Once to warm up, then measured.
    await interleave([postgres], 6, (contender) => sample(contender, options));
    const samples = await interleave([postgres, sqlite], rounds, (one) => sample(one, options));
    const middle = (contender: Contender, of: (sends: Sends) => number): number =>
      median((samples.get(contender) ?? []).map(of));
    const cpu = (sends: Sends): number => sends.replica + sends.database;
    const floors = samples.get(sqlite) ?? [];
    const ratio = median(
      (samples.get(postgres) ?? []).map((sends, round) => cpu(sends) / floors[round]!.replica),
    );
    const row = (work: string, of: (sends: Sends) => number, unit: string, limit: number): Row => ({
      work,
      ours: `${short(middle(postgres, of))}${unit}`,
      ratio: `SQLite ${short(middle(sqlite, of))}${unit}`,
      budget: `${limit}${unit}`,
      isMet: middle(postgres, of) <= limit,
    });
    const perSecond = row("… sends/s", (sends) => sends.perSecond, " /s", limits.perSecond);
    return [
      {
        work: `Postgres: blocking send, ${atOnce} in flight, CPU of server and database`,
        ours: `${short(middle(postgres, cpu))} µs`,
        ratio: `${short(ratio)}× SQLite (${short(middle(sqlite, (sends) => sends.replica))} µs)`,
        budget: `${limits.ratio}×`,
        isMet: ratio <= limits.ratio,
      },
      row("… CPU of the server alone", (sends) => sends.replica, " µs", limits.replica),
      {
        ...perSecond,
        isFloor: true,
        isMet: middle(postgres, (sends) => sends.perSecond) >= limits.perSecond,
      },
      row("… one send alone, p50", (sends) => sends.alone, " ms", limits.alone),
      ...(await firstEvents(field, postgres, options)),
    ];
  } finally {
    await target.close();
  }
}

async function sample(contender: Contender, { database, atOnce, calls }: Options): Promise<Sends> {
  const one = () => send(contender, { manner: "burst", count: 1 });
  const isPostgres = contender.target.env["BENCH_DATABASE"] !== undefined;
  const before = database.cpu();
  const at = performance.now();
  const cost = await costOf(contender, async () => {
    for (const answer of await inFlight(atOnce, calls, one)) checkTask(answer, 1);
  });
  const seconds = (performance.now() - at) / 1000;
  const used = isPostgres ? database.cpu() - before : 0;
  const alone: number[] = [];
  for (let count = 0; count < 30; count++) {
    const began = performance.now();
    await one();
    alone.push(performance.now() - began);
  }
  return {
    replica: cost.value / calls,
    database: used / calls,
    perSecond: calls / seconds,
    alone: median(alone),
  };
}

/** How much longer a new stream waits for its first event than with bare `node:http`. */
async function firstEvents(
  field: Field,
  postgres: Contender,
  { streams, limits }: Options,
): Promise<readonly Row[]> {
  const bare = field.bare["1.0"];
  const sqlite = field.ours["1.0"];
  const sessions = await interleave([bare, sqlite, postgres], streams.rounds, (contender) =>
    tokenSession(contender, streams),
  );
  const added = (contender: Contender, percent: number): number => {
    const waited = (of: Contender): number =>
      percentile(
        (sessions.get(of) ?? []).flatMap((session) => session.firstEvents),
        percent,
      );
    return waited(contender) - waited(bare);
  };
  const row = (work: string, percent: number, limit: number): Row => ({
    work,
    ours: `${short(added(postgres, percent))} ms`,
    ratio: `SQLite ${short(added(sqlite, percent))} ms`,
    budget: `${limit} ms`,
    isMet: added(postgres, percent) <= limit,
  });
  return [
    row(
      `Postgres: added time to first event among ${streams.atOnce} streams, p50`,
      50,
      limits.first.p50,
    ),
    row("… p99", 99, limits.first.p99),
  ];
}
