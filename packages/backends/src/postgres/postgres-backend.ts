import { hostname } from "node:os";
import type { Metrics } from "@convoke/protocol";
import type {
  Backend,
  CommitResult,
  CommitStep,
  Logger,
  PushStore,
  RetentionStore,
  Seq,
  StoredEvent,
  TaskIndex,
} from "@convoke/engine";
import { packageVersion } from "@convoke/engine/version";
import { Connection, type DatabaseAddress, toAddress } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";
import { FollowedTasks } from "./followed-tasks.ts";
import { type Bus, type BusReports, Hints, NotifyBus } from "./hints.ts";
import { PostgresValues } from "./key-values.ts";
import { Lease, type StartKeeper, startKeeperThread } from "./lease.ts";
import { refuseMarked } from "./marked-schema.ts";
import { prepareSchema } from "./migrations.ts";
import { Partitions } from "./partitions.ts";
import { PostgresPushStore } from "./push-store.ts";
import { PostgresTaskIndex, Reader } from "./reader.ts";
import { PostgresRetentionStore } from "./retention-store.ts";
import { MIGRATIONS, type Migration } from "./schema.ts";
import { PostgresSharing } from "./sharing.ts";
import { StepWriter } from "./step-writer.ts";
import { WriteQueue } from "./write-queue.ts";

export interface PostgresBackendOptions {
  /**
   * The address of the database, such as `postgres://user:password@host/database`. In addition to the
   * parameters of libpq it takes `schema`, `prepare=false` for poolers that do not keep prepared
   * statements, and `partitions=none` to keep all logs in one table instead of one for each day.
   */
  readonly url: string;

  /** The schema with the tables, created if it is missing. Default `convoke`, or that of the address. */
  readonly schema?: string;

  /**
   * What a resolved commit survives. `"power"` (default): a power failure of the database server
   * (`synchronous_commit = on`). `"process"`: only a crash of this process, which is faster.
   */
  readonly durability?: "power" | "process";

  /**
   * How long the other processes wait after the last sign of life of this one before they continue
   * its tasks. Default 3000 ms. A shorter time makes takeovers out of pauses of a busy machine.
   */
  readonly leaseMs?: number;

  /**
   * Whether missing tables are created and missing migrations applied. Default true. If false, a
   * database that lacks some is refused, for users who may not change tables: an administrator runs
   * `convoke database migrate` instead.
   */
  readonly migrate?: boolean | undefined;

  /**
   * Identifies this machine: the tasks of local agents are continued only by processes with the same
   * id. Up to 255 printable ASCII characters. Default: its host name, which is a new one for each
   * container.
   */
  readonly host?: string;

  /** The name and version of this program in the list of processes. Default: those of this package. */
  readonly software?: string;

  /**
   * Receives how long commits take and how many steps share one, the age of the lease, and what other
   * processes cause. Default: nothing is measured.
   */
  readonly metrics?: Metrics | undefined;

  /** Receives a line when hints between processes do not arrive, and when they do again. Default: none. */
  readonly logger?: Logger | undefined;

  /**
   * Called once if the lease can no longer be renewed because its thread died. A server should report
   * the error and exit in order to be restarted.
   */
  readonly onFatal?: (error: Error) => void;
}

/**
 * Opens a database. Any number of processes can use it at the same time. Rejects with a
 * `DatabaseError` that says in one sentence why it cannot be used.
 *
 * @example
 * const backend = await openPostgresBackend({ url: "postgres://convoke@localhost/convoke" });
 */
export async function openPostgresBackend(options: PostgresBackendOptions): Promise<Backend> {
  return openWithParts(options, { startKeeper: startKeeperThread, openBus: openNotifyBus });
}

/** What a bus is opened with, once the schema exists. */
interface BusOptions extends BusReports {
  readonly address: DatabaseAddress;
}

/** Hints between the processes of a schema, by the database. */
export function openNotifyBus({ address, logger, metrics }: BusOptions): Bus {
  const settings = ["SET synchronous_commit = off"];
  const connect = (): Connection => new Connection({ ...address, settings });
  return new NotifyBus({ connect, channel: `convoke_${address.schema}`, logger, metrics });
}

/** How processes notice that another one lives, and what it does. */
export interface ReplacedParts {
  readonly startKeeper: StartKeeper;
  readonly openBus: (options: BusOptions) => Bus;
  /** How long the first page of a list waits for other processes. Default 100 ms. */
  readonly settleMs?: number;
  /** The migrations that this process knows. Default: all. */
  readonly migrations?: readonly Migration[];
}

/** For tests that stop the lease of a process, lose hints, or know other migrations. */
export async function openWithParts(
  options: PostgresBackendOptions,
  { startKeeper, openBus, settleMs = 100, migrations = MIGRATIONS }: ReplacedParts,
): Promise<Backend> {
  const { url, durability = "power", leaseMs = 3000, host = hostname(), metrics } = options;
  const {
    software = `convoke ${packageVersion()}`,
    migrate = true,
    onFatal = () => {},
    logger,
  } = options;
  const address = toAddress(url, options.schema);
  const { schema } = address;
  const settings = durability === "process" ? ["SET synchronous_commit = off"] : [];
  const writers = [1, 2].map(() => new Connection({ ...address, settings }));
  let lease: Lease | undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(host)) {
    throw new TypeError(
      `host must be 1 to 255 printable ASCII characters, not ${JSON.stringify(host)}`,
    );
  }
  try {
    await prepareSchema(writers[0]!, address, { migrate, migrations });
    await refuseMarked(writers[0]!, schema);
    const partitions = new Partitions(writers[0]!, address.hasPartitions);
    await partitions.tend();
    lease = new Lease({ url, schema, leaseMs, host, software }, startKeeper, onFatal);
    await lease.registered;
    // Again: a move that began meanwhile did not see this process.
    await refuseMarked(writers[0]!, schema);
    const readers = [1, 2].map(() => new Connection(address));
    const bus = openBus({ address, logger, metrics });
    const parts = { schema, writers, readers, lease, bus, host, settleMs, metrics };
    return new PostgresBackend({ ...parts, partitions });
  } catch (error) {
    await lease?.close();
    await Promise.all(writers.map((connection) => connection.close()));
    throw DatabaseError.unusable(address, error);
  }
}

interface Parts {
  readonly schema: string;
  readonly writers: readonly Connection[];
  readonly readers: readonly Connection[];
  readonly lease: Lease;
  readonly bus: Bus;
  readonly host: string;
  readonly settleMs: number;
  readonly metrics: Metrics | undefined;
  readonly partitions: Partitions;
}

/** Counts are kept in this many shards, see `schema.ts`. */
const SHARDS = 32;

class PostgresBackend implements Backend {
  readonly tasks: TaskIndex;
  readonly pushes: PushStore;
  readonly retention: RetentionStore;
  readonly sharing: PostgresSharing;
  readonly #connections: readonly Connection[];
  readonly #reader: Reader;
  readonly #writes: WriteQueue;
  readonly #followed: FollowedTasks;
  readonly #values: PostgresValues;
  readonly #lease: Lease;
  readonly #bus: Bus;
  readonly #endMetrics: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { schema, writers, readers, lease, bus, host, settleMs, metrics, partitions } = parts;
    this.#connections = [...writers, ...readers];
    this.#lease = lease;
    this.#bus = bus;
    const reader = (this.#reader = new Reader(readers));
    const steps = new StepWriter({
      replica: () => lease.replica,
      onWritten: (change) => {
        this.sharing.written(change);
        this.#followed.written(change);
      },
      onCommitted: (taskId, head) => this.#followed.committed(taskId, head),
    });
    const shard = (lane: number): number => (lease.replica * writers.length + lane) % SHARDS;
    const lanes = writers.map((writer, lane) => ({ connection: writer, shard: shard(lane) }));
    const writes = (this.#writes = new WriteQueue({ lanes, steps, metrics }));
    const hints = new Hints(
      bus,
      () => lease.replica,
      (hint) => {
        if (hint.kind === "heads") this.#followed.hear(hint.heads);
        else if (hint.kind === "follow") this.#followed.follow(hint.taskIds);
        else if (hint.kind === "values") this.#values.changed(hint.collection);
        else this.sharing.receive(hint);
      },
    );
    this.#values = new PostgresValues(reader, (collection) =>
      hints.send({ kind: "values", collection }),
    );
    const { open: values } = this.#values;
    const sharing = { reader, lease, hints, steps, writes, values, host, settleMs };
    this.sharing = new PostgresSharing(sharing);
    this.#followed = new FollowedTasks({
      reader,
      hints,
      isOwn: (taskId) => this.sharing.isOwn(taskId),
      isWriting: (taskId) => writes.hasWrite(taskId),
      headOf: (taskId) => steps.headOf(taskId),
      metrics,
    });
    this.#endMetrics = metrics?.collect((add) => {
      add("leaseAge", lease.ageMs / 1000, [schema]);
      add("mailboxEntries", this.sharing.mailboxEntries);
      add("followedTasks", this.#followed.foreign().length);
    });
    this.tasks = new PostgresTaskIndex(reader);
    this.pushes = new PostgresPushStore(reader, writes);
    this.retention = new PostgresRetentionStore({
      reader,
      writes,
      steps,
      partitions,
      shard: () => shard(0),
      erasures: values("erasures"),
    });
  }

  commit(step: CommitStep): Promise<CommitResult> {
    return this.#writes.commit(step);
  }

  read(
    taskId: string,
    after: Seq,
    limit: number,
    maxLength?: number,
  ): Promise<readonly StoredEvent[]> {
    return this.#reader.events(taskId, after, limit, maxLength);
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#closed === undefined ? this.#followed.watch(taskId, wake) : () => {};
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** The lease ends last but one: until then no other process takes the tasks. */
  async #close(): Promise<void> {
    this.#endMetrics?.();
    await this.#writes.close();
    this.#followed.close();
    this.#values.close();
    await this.#bus.close();
    await this.#lease.close();
    await this.sharing.close();
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}
