import type { DatabaseSync } from "node:sqlite";
import { Misuse } from "@convoke/engine/check-step";
import { ContextWriter, MessageWriter } from "./message-writer.ts";
import { PushWriter } from "./push-writer.ts";
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

/** Passes each write of a batch to its writer. Lives in the writer thread, inside a transaction. */
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

  /** Writes what was put off until the end of the batch. */
  flush(): void {
    this.#steps.flush();
    this.#counts.flush();
  }

  /** Drops what was learnt from a transaction that did not happen. */
  forget(): void {
    this.#steps.forget();
    this.#counts.forget();
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
 * Writes one batch in one transaction. A refused or mistaken write is answered
 * alone; when the transaction itself fails, every write fails with it and the
 * next batch begins afresh.
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
      writer.forget();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (index === writes.length || !isFaultOfWrite(error))
        return { kind: "failed", failure: toFailure(error) };
      // The values of this one write could not be stored: once more, without it.
      rejected.set(index, toFailure(error).message);
    }
  }
}

/** Mistakes are found before anything is written, so they need no rollback. */
function attempt(writer: BatchWriter, write: SentWrite): WriteAnswer {
  try {
    return writer.write(write);
  } catch (error) {
    if (error instanceof Misuse) return { kind: "rejected", reason: error.message };
    throw error;
  }
}

/** Whether the values were at fault, not the storage: a wrong type, too large, or against a constraint. */
function isFaultOfWrite(error: unknown): boolean {
  const code = primaryCode(error);
  return (
    code === undefined ||
    code === "SQLITE_TOOBIG" ||
    code === "SQLITE_CONSTRAINT" ||
    code === "SQLITE_MISMATCH"
  );
}
