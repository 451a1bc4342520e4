import type { Metadata, TaskState } from "@convoke/protocol";
import { ModelError } from "../model/model-error.ts";
import { BudgetError, BudgetRefusal } from "./budget.ts";

/** A hook did not let the model be asked, or heard. Its words are the author's. */
export class VetoError extends Error {
  override readonly name = "VetoError";
}

/** How a task ends that cannot go on, in words that its caller may read. */
export interface LoopEnd {
  readonly state: TaskState;
  readonly text: string;
  readonly metadata: Metadata;
}

/** Ends the task in a way that whoever throws it knows. */
export class LoopEndError extends Error {
  override readonly name = "LoopEndError";
  readonly end: LoopEnd;

  constructor(end: LoopEnd) {
    super(end.text);
    this.end = end;
  }
}

/** What an expected failure ends with; nothing for any other error, whose text may hold secrets. */
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
