import type { DatabaseSync } from "node:sqlite";
import { Misuse } from "@convoke/engine";
import type { BatchWriter } from "./batch-writer.ts";
import { primaryCode, toFailure } from "./storage-error.ts";
import type { FromWriter, SentWrite, WriteAnswer } from "./thread-messages.ts";

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
