import {
  A2AError,
  type AgentEvent,
  type SubscribeRequest,
  type Task,
  isTerminal,
} from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
import { type Call, scopeOf } from "./call.ts";
import { callerView } from "./caller-view.ts";
import {
  activeDialect,
  dialectOfTask,
  openDialect,
  taskInDialect,
  withDialect,
} from "./dialects.ts";
import {
  type EventStreamSource,
  asReset,
  closesAtQuestion,
  closesAtTerminal,
  findCursor,
  placeAt,
} from "./event-source.ts";

/**
 * Subscribes to a task. With a valid cursor the client receives exactly the events
 * after it; otherwise the whole task first, marked as a reset if the client sent a
 * cursor that is not in this log.
 */
export async function subscribeToTask(
  request: SubscribeRequest,
  given: Call,
): Promise<EventStreamSource> {
  const { engine, agent, caller, version, lastEventId } = given;
  const { taskId } = request;
  const dialect = activeDialect(given) ?? (await dialectOfTask(given, taskId));
  const call = withDialect(given, dialect);
  const { task, head, oldest } = await engine.tasks.find(taskId, scopeOf(call));
  engine.openStreams.admit({ taskId, owner: caller.owner });
  const ended = isTerminal(task.status.state);
  const closes = version === "1.0" ? closesAtTerminal : closesAtQuestion;
  const view = callerView(call, undefined, dialect);
  const source = {
    engine,
    agent,
    taskId,
    owner: caller.owner,
    live: engine.tasks.current(taskId),
    files: call.files,
    ...(ended && { end: head }),
    ...(view && { view }),
    // A question before the head was answered, so it does not end the stream.
    closesAfter: (event: AgentEvent, seq: Seq) => seq >= head && closes(event),
  };
  const cursor = await findCursor(lastEventId, { engine, taskId, oldest, head }, dialect);
  if (cursor === undefined && lastEventId === undefined && ended && version === "1.0") {
    throw alreadyEnded(task);
  }
  const place = await placeAt(engine, taskId, head);
  const start = cursor ?? { after: head, afterEpoch: place.epoch };
  const stream = dialect && (await openDialect(dialect, engine, { taskId, after: start.after }));
  const resumed = { ...source, ...start, ...(stream && { dialect: stream }) };
  if (cursor !== undefined) return resumed;
  const shown = await taskInDialect(dialect, engine, { task, head });
  const opening = { task: lastEventId === undefined ? shown : asReset(shown), ...place };
  return { ...resumed, opening };
}

/** 1.0 §3.1.6: there is nothing to subscribe to. */
function alreadyEnded(task: Task): A2AError {
  const { id: taskId, status } = task;
  return new A2AError("UnsupportedOperation", `task ${taskId} is already ${status.state}`, {
    details: { taskId, state: status.state },
  });
}
