import type { RemoteAgent } from "@convoke/client";
import { TASK_STATES, type Task, isTerminal } from "@convoke/protocol";

const OPEN_STATES = TASK_STATES.filter((state) => !isTerminal(state) && state !== "unknown");

/**
 * The task of the caller that moved last and has not ended. One short question
 * for each state finds it also behind any number of tasks that have ended.
 */
export async function newestUnfinished(
  agent: RemoteAgent,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const pages = await Promise.all(
    OPEN_STATES.map((state) => agent.list({ state, pageSize: 1, signal })),
  );
  const open = pages
    .flatMap(({ tasks }) => tasks)
    .filter(({ status }) => !isTerminal(status.state));
  return open.toSorted((left, right) => timeOf(right) - timeOf(left))[0];
}

function timeOf({ status }: Task): number {
  return Date.parse(status.timestamp ?? "") || 0;
}
