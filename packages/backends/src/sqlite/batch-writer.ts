import type { DatabaseSync } from "node:sqlite";
import { Misuse } from "@convoke/engine/backend";
import { ContextWriter, MessageWriter } from "./id-writers.ts";
import { PushWriter } from "./push-table.ts";
import { RetentionWriter } from "./retention-writer.ts";
import { StepWriter } from "./step-writer.ts";
import { primaryCode, toFailure } from "./storage-error.ts";
import { TaskCounts } from "./task-counts.ts";
import type {
  FromWriter,
  OtherWrite,
  SentWrite,
  WriteAnswer,
  WriteResults,
  WriterSettings,
} from "./thread-messages.ts";

/** Dispatches the writes of a batch. Used in the writer thread, within a transaction. */
export class BatchWriter {
  readonly #steps: StepWriter;
  readonly #messages: MessageWriter;
  readonly #contexts: ContextWriter;
  readonly #pushes: PushWriter;
  readonly #retention: RetentionWriter;
  readonly #counts: TaskCounts;

  constructor(
    db: DatabaseSync,
    { terminal, followers }: Pick<WriterSettings, "terminal" | "followers">,
  ) {
    const messages = (this.#messages = new MessageWriter(db));
    const contexts = (this.#contexts = new ContextWriter(db));
    const pushes = (this.#pushes = new PushWriter(db));
    const counts = (this.#counts = new TaskCounts(db));
    const parts = { messages, contexts, pushes, counts };
    const steps = (this.#steps = new StepWriter(db, { terminal, followers, ...parts }));
    this.#retention = new RetentionWriter(db, { steps, ...parts });
  }

  write(write: SentWrite): WriteAnswer {
    if (write.kind === undefined) return this.#steps.write(write);
    return { kind: "answered", value: this.#other(write) };
  }

  /** Executes writes that were deferred to the end of the batch. */
  flush(): void {
    this.#steps.flush();
    this.#counts.flush();
  }

  /** Clears all caches after a transaction that was rolled back. */
  reset(): void {
    this.#steps.reset();
    this.#counts.reset();
  }

  #other(write: OtherWrite): WriteResults[keyof WriteResults] {
    switch (write.kind) {
      case "put-push":
        return this.#pushes.put(write.taskId, write.push);
      case "progress-push":
        return this.#pushes.progress(write.progress);
      case "delete-push":
        return this.#pushes.delete(write.taskId, write.id);
      case "prune":
        return this.#retention.prune(write.query);
      case "compact":
        return this.#retention.compact(write.taskId, write.snapshot);
      case "forget-messages":
        return this.#messages.forget(write.acceptedBefore, write.limit);
      case "forget-contexts":
        return this.#contexts.forget(write.endedBefore, write.limit);
      default:
        return write satisfies never;
    }
  }
}

/**
 * Executes one batch in one transaction. A refused or invalid write does not affect
 * the others. If the transaction itself fails, all of its writes fail.
 */
export function applyBatch(
  db: DatabaseSync,
  writer: BatchWriter,
  writes: readonly SentWrite[],
): FromWriter {
  const answers: WriteAnswer[] = [];
  const rejected = new Map<number, string>();
  for (;;) {
    let index = 0;
    try {
      db.exec("BEGIN IMMEDIATE");
      for (; index < writes.length; index += 1) {
        const reason = rejected.get(index);
        answers[index] =
          reason === undefined ? attempt(writer, writes[index]!) : { kind: "rejected", reason };
      }
      writer.flush();
      db.exec("COMMIT");
      return { kind: "answers", answers };
    } catch (error) {
      writer.reset();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (index === writes.length || !isInvalidWrite(error))
        return { kind: "failed", failure: toFailure(error) };
      // The values of this write could not be stored: retry the batch without it.
      rejected.set(index, toFailure(error).message);
    }
  }
}

/** Invalid writes are detected before anything is written, so they need no rollback. */
function attempt(writer: BatchWriter, write: SentWrite): WriteAnswer {
  try {
    return writer.write(write);
  } catch (error) {
    if (error instanceof Misuse) return { kind: "rejected", reason: error.message };
    throw error;
  }
}

/** Whether the error is caused by the values of a write, not by the storage. */
function isInvalidWrite(error: unknown): boolean {
  const code = primaryCode(error);
  return (
    code === undefined ||
    code === "SQLITE_TOOBIG" ||
    code === "SQLITE_CONSTRAINT" ||
    code === "SQLITE_MISMATCH"
  );
}
