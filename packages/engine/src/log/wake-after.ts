import type { TaskState } from "@convoke/protocol";
import type { StateRules } from "./judge.ts";

/** The part of a step that says when its task wants to be woken. */
interface WakeClaim {
  readonly state: TaskState;
  readonly wakeAt?: number | null;
}

/**
 * When a task wants to be woken once the step is applied, `null` for never. All
 * backends ask here, so they cannot disagree. The end wins over a wish in the
 * same step: nobody could answer for a task that has ended.
 */
export function wakeAfter(
  { state, wakeAt }: WakeClaim,
  before: number | null,
  rules: StateRules,
): number | null {
  if (rules.isTerminal(state)) return null;
  return wakeAt === undefined ? before : wakeAt;
}
