import {
  A2AError,
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
import type { TaskScope } from "../run/live-tasks.ts";
import { TaskMoved } from "../run/task-errors.ts";
import { newId } from "../task/new-id.ts";

/** Why a task ends, shown in its last status. */
export interface EndReason {
  readonly text: string;
  readonly metadata: Metadata;
}

/** How often it is tried to end a task that other processes change at the same time. */
const MAX_ATTEMPTS = 5;

/** Ends a task from outside its run, which is aborted and can no longer write. */
export async function endTask(
  engine: Engine,
  live: LiveTask,
  state: TaskState,
  reason?: EndReason,
): Promise<void> {
  await tryToEnd(engine, live, state, reason);
  await engine.tasks.until(live, hasEnded);
  live.detachRun();
}

/** Gives up if other processes change the task again and again. */
async function tryToEnd(
  engine: Engine,
  live: LiveTask,
  state: TaskState,
  reason?: EndReason,
): Promise<void> {
  const { writer } = live;
  for (let attempt = 1; !isTerminal(writer.nextState); attempt++) {
    if (attempt > MAX_ATTEMPTS) throw new TaskMoved(writer.taskId);
    const { run } = live;
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
    const { kind } = await committed;
    // In a shared storage another process may have changed the task since it was read.
    if (kind !== "stale" || engine.sharing === undefined) break;
    await engine.tasks.refresh(live, true);
  }
}

function hasEnded({ task }: LiveTask): boolean {
  return isTerminal(task.status.state);
}

/**
 * Cancels a task. The request is recorded first, so that a crash in between does
 * not resume the task. Then the agent is asked to stop, and the task is canceled
 * whatever the agent does.
 *
 * @param options.isRepeatable whether a task that is canceled already can be canceled again. Default true.
 */
export async function cancelTask(
  engine: Engine,
  taskId: string,
  scope: TaskScope,
  { isRepeatable = true }: { readonly isRepeatable?: boolean } = {},
): Promise<Task> {
  const live = await engine.tasks.openFor(scope, taskId);
  const isTooLate = !isRepeatable && live.task.status.state === "canceled";
  const canceled = cancelAnywhere(engine, live).finally(() => engine.tasks.release(live));
  await engine.storage.orUnavailable(canceled, {
    taskId,
    detail: "the task is canceled as soon as it can be",
  });
  const { state } = live.task.status;
  if (state === "canceled" && !isTooLate) return live.task;
  throw new A2AError("TaskNotCancelable", `task ${taskId} is already ${state}`, {
    details: { taskId, state },
  });
}

/** How long an agent may take to stop before its task is ended without it (G10: cancel always works). */
const CANCEL_GRACE_MS = 500;

/** Cancels a task in the process that works on it. */
async function cancelAnywhere(engine: Engine, live: LiveTask): Promise<void> {
  const { sharing, tasks } = engine;
  const isElsewhere = live.writer.nextState === "working" && !tasks.isCurrent(live);
  if (sharing === undefined || !isElsewhere) return cancelLive(engine, live);
  const { kind } = await sharing.forward(live, { kind: "cancel", json: "{}" });
  return kind === "claimed" ? cancelLive(engine, live) : tasks.until(live, hasEnded);
}

/** @param mailbox the entries of the mailbox that ask for it */
export async function cancelLive(
  engine: Engine,
  live: LiveTask,
  mailbox: readonly string[] = [],
): Promise<void> {
  const { run, writer } = live;
  const { taskId } = writer;
  if (run === undefined && !isTerminal(writer.nextState)) await abandonTask(engine, live);
  if (run !== undefined && !isTerminal(writer.nextState)) {
    const epoch = run.epoch;
    live.markCanceled();
    const { listed } = writer;
    const canceled = { kind: ENGINE_EVENTS.cancel, taskId };
    const { kind } = await writer.append([canceled], { epoch, listed, insist: true, mailbox });
    if (kind === "stale" && engine.sharing !== undefined) {
      // Another process has taken the task over meanwhile.
      await engine.tasks.refresh(live, true);
      return cancelAnywhere(engine, live);
    }
    run.abort(new Error(`task ${taskId} was canceled`));
    await Promise.race([run.ended, sleep(CANCEL_GRACE_MS, undefined, { ref: false })]);
  }
  await tryToEnd(engine, live, "canceled");
  if (engine.sharing !== undefined && !hasEnded(live)) {
    // Its end may be on its way to the store, which needs turns of the event loop.
    await engine.tasks.refresh(live, true);
    // Another process works on it: that one cancels it.
    if (!hasEnded(live)) return cancelAnywhere(engine, live);
  }
  await engine.tasks.until(live, hasEnded);
  live.detachRun();
}

/**
 * Notifies the agent that a task has ended whose run is not in memory, so that it
 * can stop what its journal says it started elsewhere.
 */
export async function abandonTask(engine: Engine, live: LiveTask): Promise<void> {
  if (live.agent?.definition.abandon === undefined) return;
  const { log } = await readTurnLog(engine.backend, live.writer.taskId);
  abandonTurn(engine, live, log);
}

/** The same for a log that has been read already. */
export function abandonTurn(
  engine: Engine,
  { agent, owner }: LiveTask,
  { task, journal }: TurnLog,
): void {
  if (journal.length === 0) return;
  try {
    agent?.definition.abandon?.(task, journal, owner);
  } catch (error) {
    engine.logger.error("the agent could not abandon a task", {
      taskId: task.id,
      agentId: agent?.id,
      error,
    });
  }
}
