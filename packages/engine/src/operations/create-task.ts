import type { Metadata, Task } from "@convoke/protocol";
import { expiredContext } from "../messages/begin-task.ts";
import { newId } from "../task/new-id.ts";
import type { Call } from "./call.ts";
import { stopping } from "./send-message.ts";

/** A task that is created before its first message. */
export interface CreateTaskRequest {
  /** The conversation that the task belongs to. Default: a new one. */
  readonly contextId?: string | undefined;
  readonly metadata?: Metadata | undefined;
}

/**
 * Creates a task without a message. It stays `submitted`, also across restarts, until its first
 * message starts its first turn. Without one it is canceled after `emptyTaskMs`.
 */
export async function createTask(
  given: CreateTaskRequest,
  { engine, agent, caller }: Pick<Call, "engine" | "agent" | "caller">,
): Promise<Task> {
  if (engine.isDraining) throw stopping("no new work is accepted");
  agent.requireEnabled();
  const { owner } = caller;
  const now = engine.now();
  const createdAt = engine.clock.creation({ hasChosenId: false });
  const taskId = newId(now);
  const contextId = given.contextId ?? newId(now);
  const position = { createdAt, taskId };
  const { tasks } = engine.backend;
  const earlier =
    given.contextId === undefined
      ? []
      : await tasks.ofContext({
          ...engine.contextOf({ owner, contextId, agent, position }),
          limit: 1,
        });
  await engine.openTasks.admit(owner);
  const host = earlier[0]?.host ?? engine.hostOf(agent);
  const live = engine.tasks.create({ agent, taskId, owner, contextId, now, createdAt, host });
  const task: Task = {
    kind: "task",
    id: taskId,
    contextId,
    status: { state: "submitted", timestamp: live.writer.statusTime(now) },
    ...(given.metadata && { metadata: given.metadata }),
  };
  const wakeAt = Math.min(createdAt + engine.emptyTaskMs, live.deadline ?? Infinity);
  const isOpening = given.contextId !== undefined && earlier.length === 0;
  try {
    const create = { owner, contextId, agent: agent.info.name, agentId: agent.id, createdAt };
    const committed = await live.writer.append([task], {
      epoch: 1,
      create: {
        ...create,
        ...(host !== undefined && { host }),
        ...(isOpening && { unlessForgotten: true }),
      },
      listed: true,
      wakeAt,
    });
    if (committed.kind === "forgotten") throw expiredContext();
    engine.metrics.count("tasksStarted");
    engine.wakeTimer.schedule(wakeAt);
    return live.task;
  } finally {
    // The task was not created, so it does not count.
    if (!live.isStored) engine.openTasks.remove(owner);
    engine.tasks.release(live);
  }
}
