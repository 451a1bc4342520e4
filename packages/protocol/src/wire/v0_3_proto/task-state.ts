import type { TaskState } from "../../task.ts";
import { decodeTaskState as decodeWord } from "../v0_3/task-state.ts";

/** In the order of their proto numbers. A forgotten state is a compile error. */
const NAMES = {
  unknown: "TASK_STATE_UNSPECIFIED",
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELLED",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  rejected: "TASK_STATE_REJECTED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
} as const satisfies Record<TaskState, string>;

const STATES = new Map<unknown, TaskState>([
  ...Object.entries(NAMES).flatMap(([state, name], number) => [
    [name, state as TaskState] as const,
    [number, state as TaskState] as const,
  ]),
  // As 1.0 spells it.
  ["TASK_STATE_CANCELED", "canceled"],
]);

/**
 * Reads a state by its name or number, or by the word of the JSON-RPC dialect;
 * one this version does not know is `undefined`, not a guess.
 */
export function decodeTaskState(value: unknown): TaskState | undefined {
  return STATES.get(value) ?? decodeWord(value);
}

export function encodeTaskState(state: TaskState): string {
  return NAMES[state];
}
