import {
  type AgentEvent,
  ENGINE_EVENTS,
  type TraceContext,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import { conversationBefore } from "../log/conversation.ts";
import type { Engine } from "./engine.ts";
import type { LiveTask } from "./live-task.ts";
import { Replay } from "./replay.ts";
import type { Run } from "./run.ts";
import { type TurnLog, readTurnLog } from "../log/turn-log.ts";

/** How often a turn ended with its process since it last made progress. */
export interface Crashes {
  readonly count: number;
  /** The ids of those processes, as far as they are known. */
  readonly lost: readonly string[];
}

/** The crashes that are in the log of a turn. */
export function loggedCrashes({ crashes: count, lost }: TurnLog): Crashes {
  return { count, lost };
}

/**
 * Starts another attempt of the last turn of a task. If the turn has a journal,
 * it resumes from it, so that finished steps do not run again; otherwise it
 * starts over, for agents that allow it (`restart`). Either way, output that the
 * log has already is not written again.
 */
export async function resumeTask(
  engine: Engine,
  live: LiveTask,
  epoch: number,
): Promise<Run | undefined> {
  const { log } = await readTurnLog(engine.backend, live.writer.taskId);
  return startAttempt(engine, live, { epoch, log });
}

/** The same for a log that has been read already. */
export async function startAttempt(
  engine: Engine,
  live: LiveTask,
  options: {
    readonly epoch: number;
    readonly log: TurnLog;
    /** Attempts without progress that ended with their process. Default: those in the log. */
    readonly crashes?: Crashes;
    /** The request that has brought the answer for which the turn is resumed, if it is. */
    readonly link?: TraceContext | undefined;
  },
): Promise<Run | undefined> {
  const { epoch, log, crashes = loggedCrashes(log), link } = options;
  const { owner, writer, deadline } = live;
  // Another process may have ended it since it was claimed.
  if (isTerminal(writer.nextState)) return undefined;
  const attempt = log.attempts + 1;
  const hasJournal = log.isDurable;
  const opening = openingEvents(engine, live, { attempt, crashes, hasJournal });
  if (log.isAsking) {
    // The question is still pending, and so is the time at which it expires.
    const working = log.isAlongside && { running: true };
    await writer.append(opening, { epoch, insist: true, ...working });
  } else {
    // A wake time set by the earlier attempt does not apply to this one.
    await writer.append(opening, { epoch, insist: true, wakeAt: deadline ?? null, running: true });
    if (deadline !== undefined) engine.wakeTimer.schedule(deadline);
  }
  const conversation = await conversationBefore(engine.backend, engine.contextOf(live));
  const { files } = engine;
  const inbox = await Promise.all(log.inbox.map((message) => files.inline(message)));
  const message = await files.inline(log.message);
  const journal = hasJournal
    ? await Promise.all(log.journal.map((event) => files.inline(event)))
    : [];
  live.inbox.begin(inbox, log.head);
  return engine.start(live, {
    epoch,
    turn: log.turn,
    attempt,
    task: log.task,
    startedAt: log.startedAt,
    message,
    conversation,
    journal,
    caller: { owner, ...log.caller },
    extensions: log.extensions,
    trace: log.trace,
    link,
    announced: writer.listed,
    replay: new Replay(log, live.task),
  });
}

/**
 * The note of a new attempt. Clients are not told: what they have of the answer stays valid, unless the
 * attempt writes something else, and then its artifact begins again (`append: false`).
 */
function openingEvents(
  engine: Engine,
  live: LiveTask,
  facts: { readonly attempt: number; readonly crashes: Crashes; readonly hasJournal: boolean },
): readonly AgentEvent[] {
  const { attempt, crashes, hasJournal } = facts;
  const timestamp = new Date(engine.now()).toISOString();
  const note: AgentEvent = {
    kind: ENGINE_EVENTS.attempt,
    taskId: live.writer.taskId,
    attempt,
    ...(crashes.count > 0 && { crashes: crashes.count }),
    ...(crashes.lost.length > 0 && { lost: crashes.lost }),
    timestamp,
  };
  // A turn that starts over asks its question again, so until then nobody can answer it.
  const isAsked = !hasJournal && isInterrupted(live.writer.nextState);
  return isAsked ? [note, engine.status(live, "working")] : [note];
}
