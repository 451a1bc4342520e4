import type { Answer, FollowOptions, Run } from "@convoke/client";
import { type PublicEvent, isInterrupted } from "@convoke/protocol";

interface Following {
  readonly open: (options: Pick<FollowOptions, "signal">) => Run;
  /** When it fires, the task is canceled at the agent, and the reading ends. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: PublicEvent) => void;
  /** Whether a message is sent to a task that waits: until it is taken, the task still does. */
  readonly isAnswer: boolean;
}

/** Reads an answer until the agent has done its part: it ended the task, or waits for somebody. */
export async function followRun({ open, signal, onEvent, isAnswer }: Following): Promise<Answer> {
  const leave = new AbortController();
  const run = open({ signal: leave.signal });
  const cancel = (): void => void cancelRun(run, leave);
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    for await (const event of run) {
      onEvent(event);
      if (isQuestion(event, isAnswer)) break;
    }
    return await run.result;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** A task that goes on all the same is not read any longer. */
async function cancelRun(run: Run, leave: AbortController): Promise<void> {
  try {
    await run.cancel();
  } catch {
    // There is nobody left to tell: whoever canceled does not wait for an answer.
  }
  leave.abort(new Error("the call was canceled"));
}

/** An agent that waits for an authorization keeps its stream open; the host should hear of it now. */
function isQuestion(event: PublicEvent, isAnswer: boolean): boolean {
  if (event.kind !== "status-update" && (event.kind !== "task" || isAnswer)) return false;
  return isInterrupted(event.status.state);
}
