import type { InternalEvent } from "./events.ts";

/** The engine's own notes in a log: what a later process needs to go on with a turn. */
export interface EngineNotes {
  /** The agent's turn is over although the task is not: the next message begins a new one. */
  readonly turnEnd: "internal:turn-end";
  /** The turn was begun anew. */
  readonly attempt: "internal:attempt";
  /** The caller wants the task to stop. */
  readonly cancel: "internal:cancel";
  /** Nobody answered in time, and the agent goes on without. */
  readonly expired: "internal:expired";
  /** A sleep is over. */
  readonly woken: "internal:woken";
  /** The agent took its question back: what it asked for was settled elsewhere. */
  readonly recalled: "internal:recalled";
}

export const NOTES: EngineNotes = {
  turnEnd: "internal:turn-end",
  attempt: "internal:attempt",
  cancel: "internal:cancel",
  expired: "internal:expired",
  woken: "internal:woken",
  recalled: "internal:recalled",
};

/** The agent sleeps; the engine wakes it, also after a restart. */
export interface SleepEvent extends InternalEvent {
  readonly kind: "internal:sleep";
  /** ISO 8601. */
  readonly until: string;
}

export function isSleep(event: InternalEvent): event is SleepEvent {
  return event.kind === "internal:sleep";
}
