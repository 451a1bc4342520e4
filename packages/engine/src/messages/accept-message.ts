import {
  type A2AError,
  type Caller,
  invalidParams,
  type Message,
  type Task,
  type TraceContext,
} from "@convoke/protocol";
import type { NewPush, Seq } from "../log/backend.ts";
import { continueTask } from "./continue-task.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import type { TaskSnapshot } from "../log/task-snapshot.ts";
import { NO_EXTENSIONS, activatedNote } from "../log/turn-log.ts";
import { conversationBefore } from "../log/conversation.ts";
import { digestMessage, joinTask } from "./join-task.ts";
import { newId } from "../task/new-id.ts";
import { traceFields } from "../task/status.ts";

/** A message from a caller. */
export interface Incoming {
  readonly message: Message;
  readonly caller: Caller;
  readonly trace?: TraceContext | undefined;
  /** The extensions that the message activates. Default none. */
  readonly extensions?: ReadonlySet<string> | undefined;
  /** Creates the push config sent with the message, for the task and the events after a position of its log. */
  readonly push?: ((taskId: string, after: Seq) => NewPush) | undefined;
  /** The id of a new task, chosen by code in this process; requests never choose it. Default: a generated id. */
  readonly newTaskId?: string | undefined;
}

/** The task that accepted a message. */
export interface Accepted {
  readonly live: LiveTask;
  /** The last sequence before this message: a stream of its turn starts after it. */
  readonly after: Seq;
  /** For a retry: the task when the message first arrived. */
  readonly joined?: TaskSnapshot;
}

/** Passes a message to the task it names, or creates a task for it. */
export function acceptMessage(engine: Engine, incoming: Incoming): Promise<Accepted> {
  const { taskId } = incoming.message;
  return taskId === undefined
    ? beginTask(engine, incoming)
    : continueTask(engine, incoming, taskId);
}

/** Creates a task in the same transaction that stores the messageId, and starts the agent on it. */
async function beginTask(engine: Engine, incoming: Incoming): Promise<Accepted> {
  const { message, caller, trace, extensions = NO_EXTENSIONS } = incoming;
  const { owner } = caller;
  const now = engine.now();
  const { newTaskId } = incoming;
  const createdAt = engine.clock.creation({ hasChosenId: newTaskId !== undefined });
  const taskId = newTaskId ?? newId(now);
  const contextId = message.contextId ?? newId(now);
  const conversation =
    message.contextId === undefined
      ? []
      : await conversationBefore(engine.backend, {
          owner,
          contextId,
          before: { createdAt, taskId },
        });
  // A contextId without tasks starts a new conversation, unless its tasks were pruned: then refuse,
  // because the caller expects history.
  const isOpening = message.contextId !== undefined && conversation.length === 0;
  engine.openTasks.admit(owner);
  const live = engine.tasks.create({ taskId, owner, contextId, now, createdAt });
  const received = { ...message, taskId, contextId };
  const task: Task = {
    kind: "task",
    id: taskId,
    contextId,
    status: { state: "submitted", timestamp: live.writer.statusTime(now) },
    history: [received],
    ...(trace && { metadata: traceFields(trace) }),
  };
  // An agent that may reply without a task shows the task only when its first event requires one.
  const announced = !engine.agent.info.replies;
  const push = incoming.push?.(taskId, 0);
  try {
    const activated = activatedNote(taskId, extensions);
    const working = announced ? [engine.status(live, "working", { trace })] : [];
    const committed = await live.writer.append([task, ...activated, ...working], {
      epoch: 1,
      create: {
        owner,
        contextId,
        agent: engine.agent.info.name,
        createdAt,
        ...(isOpening && { unlessForgotten: true }),
      },
      message: { messageId: message.messageId, digest: digestMessage(message) },
      listed: announced,
      ...(live.deadline !== undefined && { wakeAt: live.deadline }),
      ...(push && { push }),
    });
    if (committed.kind === "duplicate") return await joinTask(engine, incoming, committed);
    if (committed.kind === "forgotten") throw expired();
    if (push !== undefined) engine.startPush(taskId, push);
    if (live.deadline !== undefined) engine.wakeTimer.schedule(live.deadline);
    const begun = { epoch: 1, turn: 1, attempt: 1, journal: [], task: live.task, announced };
    const asked = { message: received, conversation, caller, trace, extensions };
    engine.start(live, { ...begun, ...asked });
    return { live, after: 0 };
  } finally {
    // The task was not created, so it does not count.
    if (live.writer.head === 0) engine.openTasks.remove(owner);
    engine.tasks.release(live);
  }
}

function expired(): A2AError {
  const problem = "names a conversation that has expired; leave contextId out to begin a new one";
  return invalidParams("message.contextId", problem);
}
