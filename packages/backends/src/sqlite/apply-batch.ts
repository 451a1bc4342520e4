import type { DatabaseSync } from "node:sqlite";
import { Misuse } from "../judge.ts";
import type { StepWriter } from "./step-writer.ts";
import { primaryCode, toFailure } from "./storage-error.ts";
import type { FromWriter, SentStep, StepAnswer } from "./thread-messages.ts";

/**
 * Writes the steps of one batch in one transaction. A refused or mistaken step
 * is answered alone; when the transaction itself fails, every step fails with it
 * and the next batch begins afresh.
 */
export function applyBatch(
  db: DatabaseSync,
  writer: StepWriter,
  steps: readonly SentStep[],
): FromWriter {
  const answers: StepAnswer[] = [];
  const rejected = new Map<number, string>();
  for (;;) {
    let index = 0;
    try {
      db.exec("BEGIN IMMEDIATE");
      for (; index < steps.length; index += 1) {
        const reason = rejected.get(index);
        answers[index] =
          reason === undefined ? attempt(writer, steps[index]!) : { kind: "rejected", reason };
      }
      writer.flush();
      db.exec("COMMIT");
      return { kind: "answers", answers };
    } catch (error) {
      writer.forget();
      if (db.isTransaction) db.exec("ROLLBACK");
      if (index === steps.length || !isFaultOfStep(error))
        return { kind: "failed", failure: toFailure(error) };
      // The values of this one step could not be stored: once more, without it.
      rejected.set(index, toFailure(error).message);
    }
  }
}

/** Mistakes are found before anything is written, so they need no rollback. */
function attempt(writer: StepWriter, step: SentStep): StepAnswer {
  try {
    return writer.write(step);
  } catch (error) {
    if (error instanceof Misuse) return { kind: "rejected", reason: error.message };
    throw error;
  }
}

/** Whether the values were at fault, not the storage: a wrong type, too large, or against a constraint. */
function isFaultOfStep(error: unknown): boolean {
  const code = primaryCode(error);
  return (
    code === undefined ||
    code === "SQLITE_TOOBIG" ||
    code === "SQLITE_CONSTRAINT" ||
    code === "SQLITE_MISMATCH"
  );
}
