import type { Connection } from "./connection.ts";
import { sqlState } from "./database-error.ts";

/** The bits of `task.n` after the day; see `CREATE` in `step-sql.ts`. */
const DAY_BITS = 38n;

/** How many days have their partition before they begin, in case it cannot be made for a while. */
const DAYS_AHEAD = 2;

/** How often partitions are made and dropped. */
const TEND_MS = 60 * 60_000;

/**
 * Making a partition reads all of `segment_rest`, while nothing can be written to it. If it is larger
 * than this, because partitions were turned off before, it stays in use until its tasks are removed.
 */
const MAX_REST_BYTES = 16 * 1024 * 1024;

/**
 * The daily partitions of `segment`: when the tasks of a day have all been removed, its partition is
 * dropped as a whole, and nothing is left to vacuum. A task whose day has no partition has its log in
 * `segment_rest`.
 *
 * The number of a task decides where its log is, and never changes. So the primary key of one
 * partition covers the whole log, also over midnight. Partitions are made and dropped only while
 * there is no log in their range, under a lock that excludes writers.
 */
export class Partitions {
  readonly #connection: Connection;
  #isOn: boolean;
  #dueAt = 0;

  constructor(connection: Connection, isOn: boolean) {
    this.#connection = connection;
    this.#isOn = isOn;
  }

  /** As `tend`, but at most once an hour. */
  async tendIfDue(): Promise<void> {
    if (performance.now() >= this.#dueAt) await this.tend();
  }

  /**
   * Makes the partitions of the next days, and drops empty ones of the past. Several processes can do
   * this at the same time. What is locked by others for longer is left for the next time.
   *
   * @param today days since 1970; default: by the clock of the database
   */
  async tend(today?: number): Promise<void> {
    if (!this.#isOn) return;
    this.#dueAt = performance.now() + TEND_MS;
    const rows = (await this.#connection.rows(PARTITIONS)) as readonly PartitionRow[];
    const day = today ?? rows[0]![0];
    const names = new Set(rows.map(([, name]) => name));
    for (let ahead = day; ahead <= day + DAYS_AHEAD; ahead += 1) {
      if (!names.has(partitionName(ahead))) await this.#execute(makeSql(ahead));
    }
    // A task of yesterday may just be being created.
    for (const [, name] of rows) if (name < partitionName(day - 1)) await this.#drop(name);
  }

  async #drop(name: string): Promise<void> {
    if (!/^segment_\d{4}_\d\d_\d\d$/.test(name)) return;
    const [row] = await this.#connection.rows(`SELECT 1 FROM @.${name} LIMIT 1`);
    if (row === undefined) await this.#execute(dropSql(name));
  }

  async #execute(text: string): Promise<void> {
    try {
      await this.#connection.rows(text);
    } catch (error) {
      const state = sqlState(error) ?? "";
      if (state === NOT_ALLOWED) this.#isOn = false;
      else if (!LATER.has(state)) throw error;
    }
  }
}

/** This user may not make tables. */
const NOT_ALLOWED = "42501";

/** Locked for longer; made or dropped by another process; or `segment_rest` has logs of that day. */
const LATER: ReadonlySet<string> = new Set(["55P03", "40P01", "42P07", "42P01", "23505", "23514"]);

type PartitionRow = readonly [today: number, name: string];

const PARTITIONS = `
  SELECT floor(extract(epoch FROM now()) / 86400)::int, c.relname::text
  FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = '@.segment'::regclass ORDER BY c.relname`;

/** Sorts by its day. */
export function partitionName(day: number): string {
  const date = new Date(day * 86_400_000).toISOString().slice(0, 10);
  return `segment_${date.replaceAll("-", "_")}`;
}

/** All readers and writers wait while one of these waits for a lock, so it does not wait for long. */
const BRIEFLY = "PERFORM set_config('lock_timeout', '500ms', true)";

function makeSql(day: number): string {
  const [from, to] = [day, day + 1].map((of) => String(BigInt(of) << DAY_BITS));
  return `DO $$ BEGIN
    ${BRIEFLY};
    IF pg_relation_size('@.segment_rest') <= ${MAX_REST_BYTES} THEN
      CREATE TABLE @.${partitionName(day)} PARTITION OF @.segment FOR VALUES FROM (${from}) TO (${to});
    END IF;
  END $$`;
}

/** `DETACH … CONCURRENTLY` is not possible while there is a default partition. */
function dropSql(name: string): string {
  return `DO $$ BEGIN
    ${BRIEFLY};
    LOCK TABLE ONLY @.segment IN ACCESS EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM @.${name}) THEN
      DROP TABLE @.${name};
    END IF;
  END $$`;
}
