import type { Metrics } from "@convoke/protocol";
import {
  type Backend,
  type CommitResult,
  type CommitStep,
  type PushStore,
  type RetentionStore,
  type Seq,
  type StoredEvent,
  type TaskIndex,
  Watchers,
} from "@convoke/engine";
import { Connection, toAddress } from "./connection.ts";
import { DatabaseError } from "./database-error.ts";
import { PostgresPushStore } from "./push-store.ts";
import { PostgresTaskIndex, Reader } from "./reader.ts";
import { PostgresRetentionStore } from "./retention-store.ts";
import { migrate } from "./schema.ts";
import { StepWriter } from "./step-writer.ts";
import { WriteQueue } from "./write-queue.ts";

export interface PostgresBackendOptions {
  /**
   * The address of the database, such as `postgres://user:password@host/database`. In addition to the
   * parameters of libpq it takes `schema`, and `prepare=false` for poolers that do not keep prepared
   * statements.
   */
  readonly url: string;

  /** The schema with the tables, created if it is missing. Default `convoke`, or that of the address. */
  readonly schema?: string;

  /**
   * What a resolved commit survives. `"power"` (default): a power failure of the database server
   * (`synchronous_commit = on`). `"process"`: only a crash of this process, which is faster.
   */
  readonly durability?: "power" | "process";

  /** Receives how long commits take, and how many steps share one. Default: nothing is measured. */
  readonly metrics?: Metrics | undefined;
}

/**
 * Opens a database. Any number of processes can use it at the same time. Rejects with a
 * `DatabaseError` that says in one sentence why it cannot be used.
 *
 * @example
 * const backend = await openPostgresBackend({ url: "postgres://convoke@localhost/convoke" });
 */
export async function openPostgresBackend(options: PostgresBackendOptions): Promise<Backend> {
  const { durability = "power" } = options;
  const address = toAddress(options.url, options.schema);
  const { schema, label } = address;
  const settings = durability === "process" ? ["SET synchronous_commit = off"] : [];
  const writers = [1, 2].map(() => new Connection({ ...address, settings }));
  const readers = [1, 2].map(() => new Connection(address));
  try {
    await migrate(writers[0]!, schema);
    return new PostgresBackend({ writers, readers, metrics: options.metrics });
  } catch (error) {
    await Promise.all([...writers, ...readers].map((connection) => connection.close()));
    throw DatabaseError.unusable(label, schema, error);
  }
}

interface Parts {
  readonly writers: readonly Connection[];
  readonly readers: readonly Connection[];
  readonly metrics: Metrics | undefined;
}

class PostgresBackend implements Backend {
  readonly tasks: TaskIndex;
  readonly pushes: PushStore;
  readonly retention: RetentionStore;
  readonly #connections: readonly Connection[];
  readonly #reader: Reader;
  readonly #writes: WriteQueue;
  readonly #watchers = new Watchers();
  #closed: Promise<void> | undefined;

  constructor({ writers, readers, metrics }: Parts) {
    this.#connections = [...writers, ...readers];
    const reader = (this.#reader = new Reader(readers));
    const steps = new StepWriter({ replica: 1 }, (taskId, head) =>
      this.#watchers.wake(taskId, head),
    );
    const lanes = writers.map((connection, shard) => ({ connection, shard }));
    const writes = (this.#writes = new WriteQueue({ lanes, steps, metrics }));
    this.tasks = new PostgresTaskIndex(reader);
    this.pushes = new PostgresPushStore(reader, writes);
    this.retention = new PostgresRetentionStore({ reader, writes, steps, shard: 0 });
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
    return this.#watchers.watch(taskId, wake);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#writes.close();
    this.#watchers.clear();
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}
