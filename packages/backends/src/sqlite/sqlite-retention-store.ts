import type { PruneQuery, RetentionStore, Snapshot, TaskRecord } from "@convoke/engine";
import type { Statements } from "./statements.ts";
import { toRecords } from "./task-row.ts";
import { COMPACTABLE } from "./task-sql.ts";
import type { WriterThread } from "./writer-thread.ts";

/** How the database stays small. What it drops is dropped by the thread, between the steps. */
export class SqliteRetentionStore implements RetentionStore {
  readonly #statements: Statements;
  readonly #writer: WriterThread;

  constructor(statements: Statements, writer: WriterThread) {
    this.#statements = statements;
    this.#writer = writer;
  }

  prune({ endedBefore, keep, limit }: PruneQuery): Promise<number> {
    return this.#writer.write({ kind: "prune", query: { endedBefore, keep, limit } });
  }

  forgetMessages(acceptedBefore: number, limit: number): Promise<number> {
    return this.#writer.write({ kind: "forget-messages", acceptedBefore, limit });
  }

  forgetContexts(endedBefore: number, limit: number): Promise<number> {
    return this.#writer.write({ kind: "forget-contexts", endedBefore, limit });
  }

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    return toRecords(this.#statements.get(COMPACTABLE).all(endedBefore, limit));
  }

  compact(taskId: string, { seq, json }: Snapshot): Promise<boolean> {
    return this.#writer.write({ kind: "compact", taskId, snapshot: { seq, json } });
  }

  reclaim(): Promise<boolean> {
    return this.#writer.reclaim();
  }
}
