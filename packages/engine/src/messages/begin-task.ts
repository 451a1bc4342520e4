import { type A2AError, type Task, applyEvent, invalidParams } from "@convoke/protocol";
import type { TaskRecord } from "../log/backend.ts";
import { conversationBefore } from "../log/conversation.ts";
import { NO_EXTENSIONS, senderNote } from "../log/turn-log.ts";
import type { Engine } from "../run/engine.ts";
import type { TurnFacts } from "../run/turn.ts";
import { newId } from "../task/new-id.ts";
import { traceFields } from "../task/status.ts";
import { type AcceptedTask, type AddressedMessage, recordedId } from "./incoming.ts";
import { joinTask } from "./join-task.ts";

/**
 * Creates a task in the same transaction that stores the messageId, and starts the agent on it: once
 * the task is stored, or at once if the agent has no side effects. Then all that it writes until the
 * step goes to the store is part of that step.
 */
export async function beginTask(engine: Engine, incoming: AddressedMessage): Promise<AcceptedTask> {
  const { agent, message, caller, trace, extensions = NO_EXTENSIONS } = incoming;
  agent.requireEnabled();
  const { owner } = caller;
  const newest = engine.sharing === undefined ? undefined : await newestInContext(engine, incoming);
  // In a shared storage, the clock of the process that created it may be ahead of this one.
  if (newest !== undefined) engine.clock.follow(newest.createdAt);
  const now = engine.now();
  const { newTaskId, newTask: { timeoutMs, isAnnounced = false } = {} } = incoming;
  const createdAt = engine.clock.creation({ hasChosenId: newTaskId !== undefined });
  const taskId = newTaskId ?? newId(now);
  const contextId = message.contextId ?? newId(now);
  const earlier = { owner, contextId, agent, position: { createdAt, taskId } };
  const conversation =
    message.contextId === undefined
      ? []
      : await conversationBefore(engine.backend, engine.contextOf(earlier));
  // A contextId without tasks starts a new conversation, unless its tasks were pruned: then refuse,
  // because the caller expects history.
  const isOpening = message.contextId !== undefined && conversation.length === 0;
  const admitting = engine.openTasks.admit(owner);
  if (admitting instanceof Promise) await admitting;
  // What the conversation has on the disk of a host is needed again.
  const host = newest?.host ?? engine.hostOf(agent);
  const facts = { agent, taskId, owner, contextId, now, createdAt, timeoutMs, host };
  const live = engine.tasks.create(facts);
  const isElsewhere = engine.tasks.isElsewhere(live);
  const received = { ...message, taskId, contextId };
  const metadata = {
    ...(trace && traceFields(trace)),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  const task: Task = {
    kind: "task",
    id: taskId,
    contextId,
    status: { state: "submitted", timestamp: live.writer.statusTime(now) },
    history: [received],
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  // An agent that may reply without a task shows the task only when its first event requires one.
  const announced = isAnnounced || isElsewhere || !agent.info.replies;
  const push = incoming.push?.(taskId, 0);
  try {
    const working = announced ? [engine.status(live, "working", { trace })] : [];
    const creating = live.writer.append([task, ...senderNote(taskId, incoming), ...working], {
      epoch: 1,
      create: {
        owner,
        contextId,
        agent: agent.info.name,
        agentId: agent.id,
        createdAt,
        ...(host !== undefined && { host }),
        ...(isOpening && { unlessForgotten: true }),
      },
      ...recordedId(incoming, message),
      listed: announced,
      ...(live.deadline !== undefined && { wakeAt: live.deadline }),
      ...(push && { push }),
      running: isElsewhere ? "elsewhere" : true,
    });
    const begin = (from: Pick<TurnFacts, "task" | "creating">): void => {
      const begun = { epoch: 1, turn: 1, attempt: 1, journal: [], announced };
      const startedAt = task.status.timestamp;
      const asked = { message: received, conversation, caller, trace, extensions };
      engine.start(live, { startedAt, ...begun, ...asked, ...from });
    };
    const isEarly = agent.info.sideEffects === false && !isElsewhere;
    if (isEarly) begin({ task: working.reduce(applyEvent, task), creating });
    const committed = await creating;
    if (committed.kind === "duplicate") return await joinTask(engine, incoming, committed);
    if (committed.kind === "forgotten") throw expiredContext();
    engine.metrics.count("tasksStarted");
    if (push !== undefined) engine.startPush(taskId, push);
    if (isElsewhere) return { live, after: 0 };
    if (live.deadline !== undefined) engine.wakeTimer.schedule(live.deadline);
    if (!isEarly) begin({ task: live.task });
    return { live, after: 0 };
  } finally {
    // The task was not created, so it does not count.
    if (!live.isStored) {
      const { run } = live;
      live.detachRun();
      run?.abort(new Error("the task was not created"));
      engine.openTasks.remove(owner);
    }
    engine.tasks.release(live);
  }
}

/** The last task of the context, in a shared storage: another process may have created it. */
async function newestInContext(
  engine: Engine,
  { agent, message: { contextId }, caller: { owner } }: AddressedMessage,
): Promise<TaskRecord | undefined> {
  if (contextId === undefined) return undefined;
  const position = { createdAt: Number.MAX_SAFE_INTEGER, taskId: "" };
  const context = engine.contextOf({ owner, contextId, agent, position });
  const [newest] = await engine.backend.tasks.ofContext({ ...context, limit: 1 });
  return newest;
}

export function expiredContext(): A2AError {
  const problem = "names a conversation that has expired; leave contextId out to begin a new one";
  return invalidParams("message.contextId", problem);
}
