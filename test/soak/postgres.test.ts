import { connect } from "convoke";
import { fork } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../harness/postgres.ts";

// It has no short form: the database cleans up from time to time, and what it leaves behind shows
// only after that. `npm run test:soak` runs it.
const TASKS = Number(process.env["CONVOKE_SOAK_TASKS"] ?? 100_000);
const AT_ONCE = 32;
const SAMPLES = 16;
const MB = 1024 * 1024;

const address = needsPostgres();

test(
  `the size of the database and its dead rows stay flat over ${TASKS} tasks`,
  async () => {
    const url = await address();
    const measure = await aMeasure(url);
    const child = fork(new URL("./soak-server.ts", import.meta.url), ["", url], {
      execArgv: ["--conditions=@convoke/source", "--expose-gc"],
    });
    onTestFinished(() => child.disconnect());
    const [ready] = (await once(child, "message")) as [{ readonly url: string }];
    const agent = await connect(ready.url);
    const samples: Sample[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      const each = Math.ceil(TASKS / SAMPLES / AT_ONCE);
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (let count = 0; count < each; count++) await agent.send("go");
        }),
      );
      samples.push(await measure());
    }

    const line = samples.map(({ size, dead }) => `${size.toFixed(0)}/${dead}`).join(" ");
    process.stdout.write(`Soak, ${TASKS} tasks: MB/dead rows after each sixteenth: ${line}\n`);
    const most = (of: keyof Sample, some: readonly Sample[]): number =>
      Math.max(...some.map((sample) => sample[of]));
    const early = samples.slice(4, 10);
    const late = samples.slice(10);
    expect(most("size", late)).toBeLessThan(1.3 * most("size", early) + 5);
    expect(most("dead", late)).toBeLessThan(1.5 * most("dead", early) + 2000);
  },
  60_000 + 20 * TASKS,
);

interface Sample {
  /** Of all tables and indexes, in MB. */
  readonly size: number;
  /** Rows that were removed or replaced, and whose space is not free yet. */
  readonly dead: number;
}

async function aMeasure(url: string): Promise<() => Promise<Sample>> {
  const schema = new URL(url).searchParams.get("schema")!;
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  onTestFinished(() => admin.end());
  // The default of one minute is longer than a sixteenth of the test.
  await admin.query("ALTER SYSTEM SET autovacuum_naptime = '5s'");
  await admin.query("SELECT pg_reload_conf()");
  return async () => {
    const { rows } = await admin.query<{ readonly bytes: string; readonly dead: string }>(
      `SELECT sum(pg_total_relation_size(relid)) AS bytes, sum(n_dead_tup) AS dead
       FROM pg_stat_user_tables WHERE schemaname = $1`,
      [schema],
    );
    return { size: Number(rows[0]!.bytes) / MB, dead: Number(rows[0]!.dead) };
  };
}
