import { hostname } from "node:os";
import type { Metrics } from "@convoke/protocol";
import type {
  Backend,
  CommitResult,
  CommitStep,
  PushStore,
  RetentionStore,
  Seq,
  StoredEvent,
  TaskIndex,
} from "@convoke/engine";
import { Connection, type DatabaseAddress, toAddress } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";
import { FollowedTasks } from "./followed-tasks.ts";
import { type HintBus, Hints, NotifyBus } from "./hints.ts";
import { Lease, type StartKeeper, startKeeperThread } from "./lease.ts";
import { Partitions } from "./partitions.ts";
import { PostgresPushStore } from "./push-store.ts";
import { PostgresTaskIndex, Reader } from "./reader.ts";
import { PostgresRetentionStore } from "./retention-store.ts";
import { migrate } from "./schema.ts";
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

  /** The name of this machine in the list of processes. Default: its host name. */
  readonly host?: string;

  /** The name and version of this program in the list of processes. Default `convoke`. */
  readonly software?: string;

  /** Receives how long commits take, and how many steps share one. Default: nothing is measured. */
  readonly metrics?: Metrics | undefined;

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
export function openPostgresBackend(options: PostgresBackendOptions): Promise<Backend> {
  return openWithParts(options, { startKeeper: startKeeperThread, openBus: openNotifyBus });
}

/** Hints between the processes of a schema. They need not survive anything, so they wait for no disk. */
export function openNotifyBus(address: DatabaseAddress): HintBus {
  const connection = new Connection({ ...address, settings: ["SET synchronous_commit = off"] });
  return new NotifyBus(connection, `convoke_${address.schema}`);
}

/** How processes notice that another one lives, and what it does. */
export interface ReplacedParts {
  readonly startKeeper: StartKeeper;
  readonly openBus: (address: DatabaseAddress) => HintBus;
  /** How long the first page of a list waits for other processes. Default 100 ms. */
  readonly settleMs?: number;
}

/** For tests that stop the lease of a process, or lose hints. */
export async function openWithParts(
  options: PostgresBackendOptions,
  { startKeeper, openBus, settleMs = 100 }: ReplacedParts,
): Promise<Backend> {
  const { url, durability = "power", leaseMs = 3000, host = hostname(), metrics } = options;
  const { software = "convoke", onFatal = () => {} } = options;
  const address = toAddress(url, options.schema);
  const { schema, label } = address;
  const settings = durability === "process" ? ["SET synchronous_commit = off"] : [];
  const writers = [1, 2].map(() => new Connection({ ...address, settings }));
  let lease: Lease | undefined;
  try {
    await migrate(writers[0]!, schema);
    const partitions = new Partitions(writers[0]!, address.hasPartitions);
    await partitions.tend();
    lease = new Lease({ url, schema, leaseMs, host, software }, startKeeper, onFatal);
    await lease.registered;
    const readers = [1, 2].map(() => new Connection(address));
    const bus = openBus(address);
    return new PostgresBackend({ writers, readers, lease, bus, settleMs, metrics, partitions });
  } catch (error) {
    await lease?.close();
    await Promise.all(writers.map((connection) => connection.close()));
    throw DatabaseError.unusable(label, schema, error);
  }
}

interface Parts {
  readonly writers: readonly Connection[];
  readonly readers: readonly Connection[];
  readonly lease: Lease;
  readonly bus: HintBus;
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
  readonly #lease: Lease;
  readonly #bus: HintBus;
  #closed: Promise<void> | undefined;

  constructor({ writers, readers, lease, bus, settleMs, metrics, partitions }: Parts) {
    this.#connections = [...writers, ...readers];
    this.#lease = lease;
    this.#bus = bus;
    const reader = (this.#reader = new Reader(readers));
    const steps = new StepWriter({
      replica: () => lease.replica,
      onWritten: (change) => this.sharing.written(change),
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
        else this.sharing.receive(hint);
      },
    );
    this.sharing = new PostgresSharing({ reader, lease, hints, steps, writes, settleMs });
    this.#followed = new FollowedTasks({
      reader,
      hints,
      isOwn: (taskId) => this.sharing.isOwn(taskId),
      isWriting: (taskId) => writes.hasWrite(taskId),
      headOf: (taskId) => steps.headOf(taskId),
    });
    this.tasks = new PostgresTaskIndex(reader);
    this.pushes = new PostgresPushStore(reader, writes);
    const retention = { reader, writes, steps, partitions, shard: () => shard(0) };
    this.retention = new PostgresRetentionStore(retention);
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
    await this.#writes.close();
    this.#followed.close();
    await this.#bus.close();
    await this.#lease.close();
    await this.sharing.close();
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}
