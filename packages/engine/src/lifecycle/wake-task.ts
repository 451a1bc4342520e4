import {
  type AgentEvent,
  ENGINE_EVENTS,
  agentMessage,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import { type EndReason, abandonTask, endTask } from "./end-task.ts";
import type { TaskRecord } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { resumeTask } from "../run/resume-task.ts";
import { readTurnLog, turnEndedAt } from "../log/turn-log.ts";

/**
 * Handles a due task: its deadline, the end of its wait for an answer, or the end
 * of its sleep. The first change of state wins; an answer in the same millisecond
 * either came before, or comes too late.
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
  // Read first: no other change may come in between the checks below and the append.
  const { isWaiting, until } = await pendingQuestion(engine, live);
  if (live.isCanceled) return;
  // An answer, for example, may have changed the wake time meanwhile.
  if (isTerminal(writer.nextState) || (writer.nextWake ?? at + 1) > at) return;
  if (deadline !== undefined && at >= deadline) return timeOut(engine, live);
  // The wake time was set by an earlier process and does not apply to the attempt that is queued.
  if (live.isQueued) return;
  const { inputTimeout } = engine.agent.info;
  if (isInterrupted(writer.nextState)) {
    // Not before the time that has come, even if the clock was set back meanwhile.
    const timestamp = writer.statusTime(Math.max(engine.now(), at));
    const expired: AgentEvent = { kind: ENGINE_EVENTS.expired, taskId: writer.taskId, timestamp };
    // The question itself expired, before the input timeout of the agent.
    if (isWaiting && until !== undefined && until <= (writer.nextWake ?? at)) {
      return resume(engine, live, [expired, engine.status(live, "working")]);
    }
    if (inputTimeout === undefined) return clearWakeTime(engine, live);
    return inputTimeout.afterwards === "fail" || !isWaiting
      ? failUnanswered(engine, live, inputTimeout.ms)
      : resume(engine, live, [
          expired,
          engine.status(live, "working", {
            message: agentMessage(
              `${writer.taskId}-expired-${writer.head}`,
              "Continuing without client input...",
            ),
          }),
        ]);
  }
  return resume(engine, live, [{ kind: ENGINE_EVENTS.woken, taskId: writer.taskId }]);
}

function timeOut(engine: Engine, live: LiveTask): Promise<void> {
  return failTask(engine, live, { text: "Task timed out", metadata: { reason: "timeout" } });
}

function failUnanswered(engine: Engine, live: LiveTask, ms: number): Promise<void> {
  const { taskId } = live.writer;
  const metadata = { reason: "input-timeout", taskId, timeoutSeconds: ms / 1000 };
  return failTask(engine, live, { text: "Input timeout", metadata });
}

async function failTask(engine: Engine, live: LiveTask, reason: EndReason): Promise<void> {
  const isEvicted = live.run === undefined;
  await endTask(engine, live, "failed", reason);
  if (isEvicted) await abandonTask(engine, live.writer.taskId);
}

interface Question {
  /** Whether the agent can continue without an answer, because its turn did not end with the question. */
  readonly isWaiting: boolean;
  /** When the question itself expires, in milliseconds since the epoch, if it does. */
  readonly until?: number | undefined;
}

async function pendingQuestion({ backend }: Engine, { run, writer }: LiveTask): Promise<Question> {
  if (run !== undefined) return { isWaiting: true, until: run.until };
  const { taskId, head } = writer;
  if ((await turnEndedAt(backend, taskId, head)) !== undefined) return { isWaiting: false };
  if (!isInterrupted(writer.nextState)) return { isWaiting: true };
  const { log } = await readTurnLog(backend, taskId);
  return { isWaiting: true, until: log.until };
}

/** Records that the wait is over, and resumes the agent. */
async function resume(
  engine: Engine,
  live: LiveTask,
  events: readonly AgentEvent[],
): Promise<void> {
  const { writer, deadline, run } = live;
  const parked = run?.isParked === true ? run : undefined;
  const epoch = parked?.epoch ?? writer.fence();
  const committed = await writer.append(events, { epoch, insist: true, wakeAt: deadline ?? null });
  if (deadline !== undefined) engine.wakeTimer.schedule(deadline);
  if (committed.kind !== "committed") return;
  if (parked === undefined) await engine.keepTrying(writer, () => resumeTask(engine, live, epoch));
  else parked.resume(undefined);
}

/** Nothing is due: the wake time was for something that has happened already. */
async function clearWakeTime(engine: Engine, live: LiveTask): Promise<void> {
  const { writer, deadline } = live;
  const epoch = live.run?.epoch ?? writer.epoch;
  await writer.append([], { epoch, insist: true, wakeAt: deadline ?? null });
}
