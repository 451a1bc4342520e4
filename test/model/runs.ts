/** How many runs in memory take as long as one that opens a database now and then. */
const SQLITE_SHARE = 50;

/**
 * How many random runs a test makes: as many as `CONVOKE_MODEL_RUNS` says, a
 * fiftieth of it on SQLite, or few enough for every day.
 */
export function runsOf(everyDay: number, { onSqlite = false } = {}): number {
  const wanted = Number(process.env["CONVOKE_MODEL_RUNS"] ?? 0);
  if (!(wanted > 0)) return everyDay;
  return Math.ceil(onSqlite ? wanted / SQLITE_SHARE : wanted);
}

/** A bound on hanging, not on how long many runs may take. */
export const MODEL_TIMEOUT_MS = 3_600_000;

/** Says how much was tried: a property that was checked on nothing is no proof. */
export function report(name: string, { runs, commands }: Tally): void {
  process.stdout.write(`${name}: ${runs} runs, ${commands} commands\n`);
}

export interface Tally {
  runs: number;
  commands: number;
}
