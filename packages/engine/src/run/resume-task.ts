import { type AgentEvent, NOTES } from "@convoke/protocol";
import { conversationBefore } from "../log/conversation.ts";
import type { Engine } from "./engine.ts";
import type { LiveTask } from "./live-task.ts";
import { Replay } from "./replay.ts";
import type { Run } from "./run.ts";
import { readTurnLog, type TurnLog } from "../log/turn-log.ts";

/**
 * Begins the last turn of a task anew, from what its log says: by its journal
 * if it has one, so that nothing finished is done again, or from the top for an
 * agent that may be restarted.
 */
export async function resumeTask(
  engine: Engine,
  live: LiveTask,
  epoch: number,
): Promise<Run | undefined> {
  const { log } = await readTurnLog(engine.backend, live.writer.taskId);
  return beginAnew(engine, live, { epoch, log });
}

export async function beginAnew(
  engine: Engine,
  live: LiveTask,
  { epoch, log }: { readonly epoch: number; readonly log: TurnLog },
): Promise<Run | undefined> {
  const { owner, contextId, writer, deadline } = live;
  const attempt = log.attempts + 1;
  const byJournal = log.isDurable;
  const opening = openingOf(engine, live, { attempt, byJournal });
  if (log.isAsking) {
    // The question stands, and so does the time at which it expires.
    await writer.append(opening, { epoch, insist: true });
  } else {
    // Whatever the earlier attempt wanted to be woken for, this one has not come to it yet.
    await writer.append(opening, { epoch, insist: true, wakeAt: deadline ?? null });
    if (deadline !== undefined) engine.alarm.want(deadline);
  }
  const context = { owner, contextId, before: live.position };
  const conversation = await conversationBefore(engine.backend, context);
  live.inbox.begin(log.inbox, log.head);
  return engine.start(live, {
    epoch,
    turn: log.turn,
    attempt,
    task: log.task,
    message: log.message,
    conversation,
    journal: byJournal ? log.journal : [],
    caller: { owner },
    extensions: log.extensions,
    trace: log.trace,
    announced: writer.listed,
    ...(byJournal && { replay: new Replay(log, live.task) }),
  });
}

/** A restart is shown to whoever watches, because what it says again replaces what it said. */
function openingOf(
  engine: Engine,
  live: LiveTask,
  { attempt, byJournal }: { readonly attempt: number; readonly byJournal: boolean },
): readonly AgentEvent[] {
  const timestamp = new Date(engine.now()).toISOString();
  const note: AgentEvent = { kind: NOTES.attempt, taskId: live.writer.taskId, attempt, timestamp };
  return byJournal ? [note] : [note, engine.status(live, "working", { metadata: { attempt } })];
}
