import {
  A2AError,
  type Caller,
  ENGINE_EVENTS,
  type Metadata,
  type Task,
  type TaskState,
  agentMessage,
  isTerminal,
} from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { type TurnLog, readTurnLog } from "../log/turn-log.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { newId } from "../task/new-id.ts";

/** Why a task ends, shown in its last status. */
export interface EndReason {
  readonly text: string;
  readonly metadata: Metadata;
}

/** Ends a task from outside its run, which is aborted and can no longer write. */
export async function endTask(
  engine: Engine,
  live: LiveTask,
  state: TaskState,
  reason?: EndReason,
): Promise<void> {
  const { writer, run } = live;
  if (!isTerminal(writer.nextState)) {
    const epoch = writer.fence();
    // The metadata is also on the message: a task has no field for the metadata of its status.
    const message = reason && {
      ...agentMessage(newId(engine.now()), reason.text),
      metadata: reason.metadata,
    };
    const ended = engine.status(live, state, {
      ...(message && { message }),
      ...(reason && { metadata: reason.metadata }),
    });
    const committed = writer.append([ended], { epoch, insist: true, listed: true });
    run?.abort(new Error(`the task is ${state}`));
    await committed;
  }
  await live.until(({ task }) => isTerminal(task.status.state));
  live.detachRun();
}

/**
 * Cancels a task. The request is recorded first, so that a crash in between does
 * not resume the task. Then the agent is asked to stop, and the task is canceled
 * whatever the agent does.
 */
export async function cancelTask(engine: Engine, taskId: string, caller: Caller): Promise<Task> {
  const live = await engine.tasks.openFor(caller, taskId);
  const canceled = cancel(engine, live).finally(() => engine.tasks.release(live));
  await engine.storage.orUnavailable(canceled, {
    taskId,
    detail: "the task is canceled as soon as it can be",
  });
  const { state } = live.task.status;
  if (state === "canceled") return live.task;
  throw new A2AError("TaskNotCancelable", `task ${taskId} is already ${state}`, {
    details: { taskId, state },
  });
}

/** How long an agent may take to stop before its task is ended without it (G10: cancel always works). */
const CANCEL_GRACE_MS = 500;

async function cancel(engine: Engine, live: LiveTask): Promise<void> {
  const { run, writer } = live;
  const { taskId } = writer;
  const isOurs = live.otherAgent === undefined;
  if (isOurs && run === undefined && !isTerminal(writer.nextState)) {
    await abandonTask(engine, live);
  }
  if (run !== undefined && !isTerminal(writer.nextState)) {
    const epoch = run.epoch;
    live.markCanceled();
    const { listed } = writer;
    await writer.append([{ kind: ENGINE_EVENTS.cancel, taskId }], { epoch, listed, insist: true });
    run.abort(new Error(`task ${taskId} was canceled`));
    await Promise.race([run.ended, sleep(CANCEL_GRACE_MS, undefined, { ref: false })]);
  }
  await endTask(engine, live, "canceled");
}

/**
 * Notifies the agent that a task has ended whose run is not in memory, so that it
 * can stop what its journal says it started elsewhere.
 */
export async function abandonTask(
  engine: Engine,
  { owner, writer }: Pick<LiveTask, "owner" | "writer">,
): Promise<void> {
  if (engine.agent.abandon === undefined) return;
  const { log } = await readTurnLog(engine.backend, writer.taskId);
  abandonTurn(engine, log, owner);
}

/** The same for a log that has been read already. */
export function abandonTurn(engine: Engine, { task, journal }: TurnLog, owner: string): void {
  if (journal.length === 0) return;
  try {
    engine.agent.abandon?.(task, journal, owner);
  } catch (error) {
    engine.logger.error("the agent could not abandon a task", { taskId: task.id, error });
  }
}
