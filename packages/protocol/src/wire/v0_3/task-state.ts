import { TASK_STATES, type TaskState } from "../../task.ts";

/** Spellings that early servers and documents use for the official states. */
const ALIASES: ReadonlyMap<string, TaskState> = new Map([
  ["started", "submitted"],
  ["cancelled", "canceled"],
]);

const KNOWN: ReadonlySet<string> = new Set(TASK_STATES);

/** Reads a state; one this version does not know is `undefined`, not a guess. */
export function decodeTaskState(value: unknown): TaskState | undefined {
  if (typeof value !== "string") return undefined;
  return KNOWN.has(value) ? (value as TaskState) : ALIASES.get(value);
}
