/** How many runs in memory take as long as one that opens a database occasionally. */
const SQLITE_SHARE = 50;

/**
 * The number of random runs of a test: `CONVOKE_MODEL_RUNS`, a fiftieth of it on SQLite, or a small
 * default for every day.
 */
export function runsOf(everyDay: number, { onSqlite = false } = {}): number {
  const wanted = Number(process.env["CONVOKE_MODEL_RUNS"] ?? 0);
  if (!(wanted > 0)) return Math.ceil(everyDay / 2);
  return Math.ceil(onSqlite ? wanted / SQLITE_SHARE : wanted);
}

/** A bound on hanging, not on the duration of many runs. */
export const MODEL_TIMEOUT_MS = 3_600_000;

/** Prints how much was tried: a property that was checked on nothing proves nothing. */
export function report(name: string, { runs, commands }: Tally): void {
  process.stdout.write(`${name}: ${runs} runs, ${commands} commands\n`);
}

export interface Tally {
  runs: number;
  commands: number;
}
