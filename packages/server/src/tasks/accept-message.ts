import {
  A2AError,
  type Caller,
  type Message,
  type Task,
  type TraceContext,
  invalidParams,
  isInterrupted,
} from "@convoke/protocol";
import type { Seq } from "./backend.ts";
import { conversationBefore } from "./conversation.ts";
import { digestOf } from "./digest.ts";
import type { Engine } from "./engine.ts";
import { joinTask } from "./join-task.ts";
import type { LiveTask } from "./live-task.ts";
import { newId } from "./new-id.ts";

/** What a caller sends, and who it is. */
export interface Incoming {
  readonly message: Message;
  readonly caller: Caller;
  readonly trace?: TraceContext | undefined;
}

/** A message that found or made its task. */
export interface Accepted {
  readonly live: LiveTask;
  /** The last event before this message: a stream of its turn begins after it. */
  readonly after: Seq;
}

/** Gives a message to the task it names, or to a new one. */
export function acceptMessage(engine: Engine, incoming: Incoming): Promise<Accepted> {
  const { taskId } = incoming.message;
  return taskId === undefined
    ? beginTask(engine, incoming)
    : continueTask(engine, incoming, taskId);
}

async function beginTask(engine: Engine, incoming: Incoming): Promise<Accepted> {
  const { message, caller, trace } = incoming;
  const { owner } = caller;
  const now = engine.now();
  const taskId = newId(now);
  const contextId = message.contextId ?? newId(now);
  const conversation =
    message.contextId === undefined
      ? []
      : await conversationBefore(engine.backend, { owner, contextId, before: taskId });
  const live = engine.create({ taskId, owner, contextId, now });
  const received = { ...message, taskId, contextId };
  const task: Task = {
    kind: "task",
    id: taskId,
    contextId,
    status: { state: "submitted", timestamp: live.writer.statusTime(now) },
    history: [received],
    ...(trace && { metadata: { ...trace } }),
  };
  // An agent that may reply without a task shows it only once its first event tells.
  const announced = !engine.agent.info.replies;
  try {
    const working = announced ? [engine.status(live, "working", { trace })] : [];
    const committed = await live.writer.append([task, ...working], {
      epoch: 1,
      create: { owner, contextId, agent: engine.agent.info.name, createdAt: now },
      message: { messageId: message.messageId, digest: digestOf(message) },
      listed: announced,
    });
    if (committed.kind === "duplicate") return await joinTask(engine, incoming, committed);
    engine.start(live, { epoch: 1, message: received, conversation, caller, trace, announced });
    return { live, after: 0 };
  } finally {
    engine.release(live);
  }
}

async function continueTask(engine: Engine, incoming: Incoming, taskId: string): Promise<Accepted> {
  const { message, caller, trace } = incoming;
  const record = await engine.record(taskId, caller);
  const { contextId, owner } = record;
  if (message.contextId !== undefined && message.contextId !== contextId) {
    throw invalidParams("message.contextId", `is not the context of task ${taskId}`);
  }
  const live = await engine.open(record);
  const { writer, accepting } = live;
  const { messageId } = message;
  const received = { ...message, taskId, contextId };
  // The same message may be on its way at this moment: then its commit decides.
  await accepting.get(messageId)?.catch(() => undefined);
  const known = live.task.history?.find((said) => said.messageId === messageId);
  if (known !== undefined) {
    // A retry changes nothing, wherever the task stands by now; least of all who may write to it.
    const duplicate = { kind: "duplicate", taskId, digest: digestOf(known) } as const;
    return joinTask(engine, { ...incoming, message: received }, duplicate);
  }
  const { nextState } = writer;
  if (!isInterrupted(nextState)) throw takesNoMessage(taskId, nextState);
  const earlier = live.task;
  const after = writer.head;
  // A run that asked is still there and waits; otherwise the answer begins a new one.
  const waiting = live.run?.inbox.isAwaited === true ? live.run : undefined;
  const epoch = waiting?.epoch ?? writer.fence();
  const timestamp = writer.statusTime(engine.now());
  try {
    const accepted = writer.append(
      [
        { kind: "internal:message", taskId, message: received, timestamp },
        engine.status(live, "working", { trace }),
      ],
      { epoch, message: { messageId, digest: digestOf(message) } },
    );
    accepting.set(messageId, accepted);
    const committed = await accepted;
    if (committed.kind === "duplicate") return await joinTask(engine, incoming, committed);
    if (committed.kind !== "committed") throw takesNoMessage(taskId, writer.nextState);
    if (waiting === undefined) {
      const before = await conversationBefore(engine.backend, { owner, contextId, before: taskId });
      const said = earlier.status.message === undefined ? [] : [earlier.status.message];
      const conversation = [...before, ...(earlier.history ?? []), ...said];
      engine.start(live, {
        epoch,
        message: received,
        conversation,
        caller,
        trace,
        announced: true,
      });
    } else {
      waiting.inbox.put(received);
    }
    return { live, after };
  } finally {
    accepting.delete(messageId);
    engine.release(live);
  }
}

function takesNoMessage(taskId: string, state: string): A2AError {
  const works = state === "working" || state === "submitted";
  const why = works ? "takes no message while the agent works" : "takes no more messages";
  return new A2AError("UnsupportedOperation", `task ${taskId} is ${state} and ${why}`, {
    details: { taskId, state },
  });
}
