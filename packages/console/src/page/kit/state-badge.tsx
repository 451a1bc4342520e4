import type { TaskState } from "@convoke/protocol";

/** The names of task states for people. */
export const STATE_NAMES: Readonly<Record<TaskState, string>> = {
  submitted: "Submitted",
  working: "Working",
  "input-required": "Waiting for input",
  "auth-required": "Waiting for sign-in",
  completed: "Completed",
  failed: "Failed",
  canceled: "Canceled",
  rejected: "Rejected",
  unknown: "Unknown",
};

/** The state of a task, by colour, shape and text. */
export function StateBadge({ state }: { readonly state: TaskState }) {
  return (
    <span class="badge state" data-task-state={state}>
      {STATE_NAMES[state] ?? state}
    </span>
  );
}
