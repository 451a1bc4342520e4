import type { Metadata, TaskState } from "@convoke/protocol";
import { ModelError } from "../model/model-error.ts";
import { BudgetError, BudgetRefusal } from "./budget.ts";

/** A hook vetoed a model call or its answer. The message was written by the author of the agent. */
export class VetoError extends Error {
  override readonly name = "VetoError";
}

/** The final state of a task that cannot continue, with a text that is safe for the caller. */
export interface LoopEnd {
  readonly state: TaskState;
  readonly text: string;
  readonly metadata: Metadata;
}

/** Ends the task with the given end. */
export class LoopEndError extends Error {
  override readonly name = "LoopEndError";
  readonly end: LoopEnd;

  constructor(end: LoopEnd) {
    super(end.text);
    this.end = end;
  }
}

/**
 * The end of the task for an expected failure. Undefined for any other error, because its message
 * may contain secrets.
 */
export function endForError(error: unknown): LoopEnd | undefined {
  if (error instanceof LoopEndError) return error.end;
  if (error instanceof BudgetError) {
    const { message: text, budget } = error;
    return { state: "failed", text, metadata: { error: text, reason: "budget", budget } };
  }
  if (error instanceof BudgetRefusal) {
    const { message: text, limit: budget } = error;
    return { state: "rejected", text, metadata: { error: text, reason: "budget", budget } };
  }
  if (error instanceof VetoError) {
    const { message: text } = error;
    return { state: "rejected", text, metadata: { error: text, reason: "veto" } };
  }
  if (error instanceof ModelError) {
    const text = `The model could not answer: ${error.message}`;
    return { state: "failed", text, metadata: { error: text, reason: "model", kind: error.kind } };
  }
  return undefined;
}
