import {
  type AgentEvent,
  type AgentInfo,
  type InternalEvent,
  type StatusUpdateEvent,
  isInterrupted,
  isSleep,
} from "@convoke/protocol";

/** When a task must be over, if it must. */
export function taskDeadline(info: AgentInfo, createdAt: number): number | undefined {
  return info.timeoutMs === undefined ? undefined : createdAt + info.timeoutMs;
}

/**
 * When a task wants to be woken after an event, `null` for never again, or
 * nothing when the event changes nothing about it. There is one such time per
 * task: the earliest of its deadline, its sleep and its wait for an answer.
 */
export function wakeAfter(
  event: AgentEvent,
  facts: {
    readonly info: AgentInfo;
    readonly deadline: number | undefined;
    /** When the question that the event asks expires. */
    readonly until: number | undefined;
    readonly now: () => number;
  },
): number | null | undefined {
  const { info, deadline, until, now } = facts;
  if (event.kind === "internal:sleep" && isSleep(event as InternalEvent)) {
    return earliest([deadline, Date.parse((event as InternalEvent)["until"] as string)]);
  }
  if (event.kind !== "status-update") return undefined;
  const { state } = (event as StatusUpdateEvent).status;
  const hasTimeout = state === "input-required" && info.inputTimeout !== undefined;
  if (!isInterrupted(state) || (!hasTimeout && until === undefined)) return undefined;
  return earliest([deadline, until, hasTimeout ? now() + info.inputTimeout.ms : undefined]);
}

function earliest(times: readonly (number | undefined)[]): number {
  return Math.min(...times.filter((at) => at !== undefined));
}
