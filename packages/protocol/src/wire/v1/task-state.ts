import type { TaskState } from "../../task.ts";
import { decodeTaskState as decodeOldState } from "../v0_3_proto/task-state.ts";

/** A forgotten state is a compile error. `unknown` has no name of its own in 1.0. */
const NAMES = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  rejected: "TASK_STATE_REJECTED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
  unknown: "TASK_STATE_UNSPECIFIED",
} as const satisfies Record<TaskState, string>;

const STATES = new Map<string, TaskState>(
  Object.entries(NAMES).map(([state, name]) => [name, state as TaskState]),
);

/** Reads a state; one this version does not know is `undefined`, not a guess. */
export function decodeTaskState(value: unknown): TaskState | undefined {
  return typeof value === "string" ? STATES.get(value) : undefined;
}

/** The state that a server sent, which may spell or number it as 0.3 does; one that nobody knows is `unknown`. */
export function decodeSentState(value: unknown): TaskState {
  return decodeTaskState(value) ?? decodeOldState(value) ?? "unknown";
}

export function encodeTaskState(state: TaskState): string {
  return NAMES[state];
}
