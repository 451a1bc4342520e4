import {
  A2AError,
  type AgentEvent,
  type SubscribeRequest,
  type Task,
  isTerminal,
} from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
import type { Call } from "./call.ts";
import { callerView } from "./caller-view.ts";
import {
  type EventStreamSource,
  asReset,
  closesAtQuestion,
  closesAtTerminal,
  parseCursor,
} from "./event-source.ts";

/**
 * Subscribes to a task. With a valid cursor the client receives exactly the events
 * after it; otherwise the whole task first, marked as a reset if the client sent a
 * cursor that is not in this log.
 */
export async function subscribeToTask(
  request: SubscribeRequest,
  call: Call,
): Promise<EventStreamSource> {
  const { engine, caller, version, lastEventId } = call;
  const { taskId } = request;
  const { task, head, oldest } = await engine.tasks.find(taskId, caller);
  engine.openStreams.admit({ taskId, owner: caller.owner });
  const ended = isTerminal(task.status.state);
  const closes = version === "1.0" ? closesAtTerminal : closesAtQuestion;
  const view = callerView(call);
  const source = {
    engine,
    taskId,
    owner: caller.owner,
    live: engine.tasks.get(taskId),
    ...(ended && { end: head }),
    ...(view && { view }),
    // A question before the head was answered, so it does not end the stream.
    closesAfter: (event: AgentEvent, seq: Seq) => seq >= head && closes(event),
  };
  const cursor = parseCursor(lastEventId, { oldest, head });
  if (cursor !== undefined) return { ...source, after: cursor };
  if (lastEventId !== undefined) {
    return { ...source, opening: { task: asReset(task), seq: head }, after: head };
  }
  if (ended && version === "1.0") throw alreadyEnded(task);
  return { ...source, opening: { task, seq: head }, after: head };
}

/** 1.0 §3.1.6: there is nothing to subscribe to. */
function alreadyEnded(task: Task): A2AError {
  const { id: taskId, status } = task;
  return new A2AError("UnsupportedOperation", `task ${taskId} is already ${status.state}`, {
    details: { taskId, state: status.state },
  });
}
