import {
  type AgentEvent,
  type Metadata,
  NOTES,
  agentMessage,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import { abandonTask } from "./abandon-task.ts";
import type { TaskRecord } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import { endTask } from "./end-task.ts";
import type { LiveTask } from "../run/live-task.ts";
import { resumeTask } from "../run/resume-task.ts";
import { turnEndedAt } from "../log/turn-end.ts";
import { readTurnLog } from "../log/turn-log.ts";

/**
 * A task's time has come: its deadline, the end of its wait for an answer, or
 * the end of its sleep. Whoever changes its state first decides; an answer in
 * the same millisecond either came before, or comes too late.
 */
export async function wakeTask(engine: Engine, record: TaskRecord, at: number): Promise<void> {
  const live = await engine.tasks.open(record);
  try {
    await wake(engine, live, at);
  } finally {
    engine.tasks.release(live);
  }
}

async function wake(engine: Engine, live: LiveTask, at: number): Promise<void> {
  const { writer, deadline } = live;
  // Read first: from here on nobody may come in between.
  const { isWaiting, until } = await questionOf(engine, live);
  if (live.isCanceled) return;
  // Whoever was quicker, an answer perhaps, took the wish back.
  if (isTerminal(writer.nextState) || (writer.nextWake ?? at + 1) > at) return;
  if (deadline !== undefined && at >= deadline) return timeOut(engine, live);
  // What the earlier process wanted to be woken for is of no concern to the attempt to come.
  if (live.isInLine) return;
  const { inputTimeout } = engine.agent.info;
  if (isInterrupted(writer.nextState)) {
    // Not before the time that has come, even if the clock was set back meanwhile.
    const timestamp = writer.statusTime(Math.max(engine.now(), at));
    const expired: AgentEvent = { kind: NOTES.expired, taskId: writer.taskId, timestamp };
    // Its own time is over, and that was the earlier one.
    if (isWaiting && until !== undefined && until <= (writer.nextWake ?? at)) {
      return goOn(engine, live, [expired, engine.status(live, "working")]);
    }
    if (inputTimeout === undefined) return forget(engine, live);
    return inputTimeout.afterwards === "fail" || !isWaiting
      ? failUnanswered(engine, live, inputTimeout.ms)
      : goOn(engine, live, [
          expired,
          engine.status(live, "working", {
            message: agentMessage(
              `${writer.taskId}-expired-${writer.head}`,
              "Continuing without client input...",
            ),
          }),
        ]);
  }
  return goOn(engine, live, [{ kind: NOTES.woken, taskId: writer.taskId }]);
}

function timeOut(engine: Engine, live: LiveTask): Promise<void> {
  return giveUp(engine, live, { text: "Task timed out", metadata: { reason: "timeout" } });
}

function failUnanswered(engine: Engine, live: LiveTask, ms: number): Promise<void> {
  const { taskId } = live.writer;
  const metadata = { reason: "input-timeout", taskId, timeoutSeconds: ms / 1000 };
  return giveUp(engine, live, { text: "Input timeout", metadata });
}

async function giveUp(
  engine: Engine,
  live: LiveTask,
  why: { readonly text: string; readonly metadata: Metadata },
): Promise<void> {
  const isDropped = live.run === undefined;
  await endTask(engine, live, "failed", why);
  if (isDropped) await abandonTask(engine, live.writer.taskId);
}

interface Question {
  /** There is code that can go on without an answer: the turn did not end with its question. */
  readonly isWaiting: boolean;
  /** When the question itself expires, in milliseconds, if it does. */
  readonly until?: number | undefined;
}

async function questionOf({ backend }: Engine, { run, writer }: LiveTask): Promise<Question> {
  if (run !== undefined) return { isWaiting: true, until: run.until };
  const { taskId, head } = writer;
  if ((await turnEndedAt(backend, taskId, head)) !== undefined) return { isWaiting: false };
  if (!isInterrupted(writer.nextState)) return { isWaiting: true };
  const { log } = await readTurnLog(backend, taskId);
  return { isWaiting: true, until: log.until };
}

/** Notes that the wait is over, and lets the agent go on. */
async function goOn(engine: Engine, live: LiveTask, events: readonly AgentEvent[]): Promise<void> {
  const { writer, deadline, run } = live;
  const parked = run?.isParked === true ? run : undefined;
  const epoch = parked?.epoch ?? writer.fence();
  const committed = await writer.append(events, { epoch, insist: true, wakeAt: deadline ?? null });
  if (deadline !== undefined) engine.alarm.want(deadline);
  if (committed.kind !== "committed") return;
  if (parked === undefined) await engine.keepTrying(writer, () => resumeTask(engine, live, epoch));
  else parked.resume(undefined);
}

/** Nothing is due: the wish was for something that has happened already. */
async function forget(engine: Engine, live: LiveTask): Promise<void> {
  const { writer, deadline } = live;
  const epoch = live.run?.epoch ?? writer.epoch;
  await writer.append([], { epoch, insist: true, wakeAt: deadline ?? null });
}
