import { type SendMessageRequest, isTerminal, withHistoryLength } from "@convoke/protocol";
import type { LiveTask } from "../run/live-task.ts";
import { outputView } from "./accepted-output.ts";
import type { Call } from "./call.ts";
import { type EventSource, asReset, closesAtFinal, cursorOf } from "./event-source.ts";
import { acceptRequest } from "./send-message.ts";

/**
 * Sends a message and answers with the events of its turn. Sent again with the
 * same messageId it tells that turn again, or goes on after the cursor.
 */
export async function sendStreamingMessage(
  request: SendMessageRequest,
  call: Call,
): Promise<EventSource> {
  const { engine, lastEventId } = call;
  const { live, after, joined } = await acceptRequest(request, call);
  const { task, writer, oldest } = live;
  const { taskId, head } = writer;
  engine.readers.admit(taskId);
  const cursor = cursorOf(lastEventId, { oldest, head });
  const view = outputView(request.acceptedOutputModes);
  const source = { engine, taskId, live, closesAfter: closesAtFinal, ...(view && { view }) };
  const end = isTerminal(task.status.state) && { end: head };
  if (after === 0 || cursor !== undefined) {
    return { ...source, after: Math.max(after, cursor ?? 0), ...end };
  }
  // The log begins with the task, but this turn does not: it comes first all the same (1.0 §3.1.2).
  const opening = joined ?? { task, head };
  return {
    ...source,
    opening: {
      task: withHistoryLength(
        lastEventId === undefined ? opening.task : asReset(opening.task),
        request.historyLength,
      ),
      seq: opening.head,
    },
    after: opening.head,
    // A retry is told the turn again, up to where it ended; a new turn begins where the task is now.
    ...(joined === undefined ? hasFinalStatus(live, call) && { end: head } : end),
  };
}

/** Whether the stream would have closed after the status that the task has now. */
function hasFinalStatus({ task }: LiveTask, { engine }: Call): boolean {
  const { state } = task.status;
  const waits = state === "input-required" && !engine.agent.info.keepStreamOnInterrupt;
  return waits || isTerminal(state);
}
