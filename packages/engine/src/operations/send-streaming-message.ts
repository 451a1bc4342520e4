import { type SendMessageRequest, isTerminal, withHistoryLength } from "@convoke/protocol";
import type { LiveTask } from "../run/live-task.ts";
import type { Call } from "./call.ts";
import { callerView } from "./caller-view.ts";
import { dialectFor, openDialect, taskInDialect, withDialect } from "./dialects.ts";
import {
  type EventStreamSource,
  asReset,
  closesAtFinal,
  closesAtQuestion,
  findCursor,
  placeAt,
} from "./event-source.ts";
import { acceptRequest } from "./send-message.ts";

/**
 * Sends a message and streams the events of its turn. A retry with the same
 * messageId streams that turn again, or resumes after the cursor.
 */
export async function sendStreamingMessage(
  request: SendMessageRequest,
  given: Call,
): Promise<EventStreamSource> {
  const { engine, version, lastEventId } = given;
  const dialect = await dialectFor(given, request.message);
  const call = withDialect(given, dialect);
  const { live, after, joined } = await acceptRequest(request, call);
  const { task, writer, oldest } = live;
  const { taskId, head } = writer;
  const { owner } = live;
  const { agent } = call;
  engine.openStreams.admit({ taskId, owner });
  // A new message has no events that the client could have seen.
  const cursor =
    joined && (await findCursor(lastEventId, { engine, taskId, oldest, head }, dialect));
  const view = callerView(call, request.acceptedOutputModes, dialect);
  const closesAfter = version === "1.0" ? closesAtFinal : closesAtQuestion;
  const { files } = call;
  const source = { engine, agent, taskId, owner, live, files, closesAfter, ...(view && { view }) };
  const end = isTerminal(task.status.state) && { end: head };
  const { epoch: afterEpoch } = await placeAt(engine, taskId, after);
  const start = cursor !== undefined && cursor.after >= after ? cursor : { after, afterEpoch };
  if (dialect !== undefined) {
    const stream = await openDialect(dialect, engine, { taskId, after: start.after });
    const resumed = { ...source, ...start, ...end, dialect: stream };
    if (version === "0.3" || start.after === 0 || cursor !== undefined) return resumed;
    // In 1.0 the task comes first (§3.1.2).
    const shown = await taskInDialect(dialect, engine, { task, head: after });
    const opened = withHistoryLength(shown, request.historyLength);
    return { ...resumed, opening: { task: opened, seq: after, epoch: afterEpoch } };
  }
  // The events of the first turn start with the task, but a client that has some of them must know that it is a reset.
  const startsWithTask =
    after === 0 && (joined === undefined || lastEventId === undefined || !writer.listed);
  if (startsWithTask || cursor !== undefined) return { ...source, ...start, ...end };
  // Those of later turns do not, and the task must come first (1.0 §3.1.2).
  const opening = joined ?? { task, head };
  const place = await placeAt(engine, taskId, opening.head);
  return {
    ...source,
    opening: {
      task: withHistoryLength(
        lastEventId === undefined ? opening.task : asReset(opening.task),
        request.historyLength,
      ),
      ...place,
    },
    after: opening.head,
    afterEpoch: place.epoch,
    // A retry streams the turn again up to its end; a new turn starts from the current task.
    ...(joined === undefined ? hasFinalStatus(live, call) && { end: head } : end),
  };
}

/** Whether the stream would have closed after the status that the task has now. */
function hasFinalStatus({ task }: LiveTask, { agent, version }: Call): boolean {
  const { state } = task.status;
  if (state === "auth-required") return version === "0.3";
  const waits = state === "input-required" && !agent.info.keepStreamOnInterrupt;
  return waits || isTerminal(state);
}
