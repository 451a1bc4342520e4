import {
  A2AError,
  type AgentEvent,
  type Message,
  invalidParams,
  isInterrupted,
} from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { beginPush } from "./begin-push.ts";
import type { Accepted, Incoming } from "./accept-message.ts";
import { activatedFields, NO_EXTENSIONS } from "../log/activated.ts";
import type { Committed, Seq } from "../log/backend.ts";
import { conversationBefore } from "../log/conversation.ts";
import { digestOf } from "../task/digest.ts";
import type { Engine } from "../run/engine.ts";
import { checkHistory } from "../task/input-limits.ts";
import { joinTask } from "./join-task.ts";
import type { LiveTask } from "../run/live-task.ts";
import { beginAnew } from "../run/resume-task.ts";
import { storable } from "../run/storable.ts";
import { turnEndedAt } from "../log/turn-end.ts";
import { readTurnLog } from "../log/turn-log.ts";

/** How long an agent that has asked may take to wait for the answer. */
const ASKING_MS = 500;

/** Gives a message to a task that waits for one, or to an agent that takes them while it works. */
export async function continueTask(
  engine: Engine,
  incoming: Incoming,
  taskId: string,
): Promise<Accepted> {
  const { message, caller } = incoming;
  const live = await engine.tasks.openFor(caller, taskId);
  try {
    if (message.contextId !== undefined && message.contextId !== live.contextId) {
      throw invalidParams("message.contextId", `is not the context of task ${taskId}`);
    }
    await hasAsked(live);
    // The same message may be on its way already: then this one is its retry.
    while (live.arriving.has(message.messageId)) await live.arriving.get(message.messageId);
    return await receive(engine, live, incoming);
  } finally {
    engine.tasks.release(live);
  }
}

/**
 * An agent that has just asked is about to wait, or to end its turn: the answer
 * is for what comes then. One that does neither is not waited for any longer.
 */
async function hasAsked({ run, writer }: LiveTask): Promise<void> {
  if (run === undefined || run.isParked || !isInterrupted(writer.nextState)) return;
  await Promise.race([run.idle(), sleep(ASKING_MS, undefined, { ref: false })]);
}

function receive(engine: Engine, live: LiveTask, incoming: Incoming): Promise<Accepted> {
  const { taskId, nextState } = live.writer;
  const { message } = incoming;
  if (live.hasReceived(message)) return joinRetried(engine, live, incoming);
  checkHistory(live.task, engine.limits);
  if (isInterrupted(nextState)) return arriving(live, message, answer(engine, live, incoming));
  const isWelcome = nextState === "working" && engine.agent.info.takesMessages;
  if (!isWelcome) return refuse(engine, live, { incoming, why: takesNoMessage(taskId, nextState) });
  return arriving(live, message, tellWorking(engine, live, incoming));
}

/** Refuses a message that nobody waits for: in the agent's words, where it has some. */
async function refuse(
  engine: Engine,
  live: LiveTask,
  { incoming, why }: { readonly incoming: Incoming; readonly why: A2AError },
): Promise<never> {
  await live.writer.settled;
  const at = live.writer.statusTime(engine.now());
  storable(engine, { task: live.task, message: incoming.message, at });
  throw why;
}

/** Lets a retry that comes meanwhile wait for what becomes of the first. */
function arriving(
  live: LiveTask,
  { messageId }: Message,
  accepted: Promise<Accepted>,
): Promise<Accepted> {
  const forget = (): void => void live.arriving.delete(messageId);
  live.arriving.set(messageId, accepted.then(forget, forget));
  return accepted;
}

/** Takes the caller's answer, and lets the agent go on: the run that asked, or a new one. */
async function answer(engine: Engine, live: LiveTask, incoming: Incoming): Promise<Accepted> {
  const { writer, deadline } = live;
  if (writer.settled !== undefined) {
    // An answer is taken for what was asked, so the question must be in the task by then.
    await writer.settled;
    await hasAsked(live);
  }
  // From here on nobody comes in between: of two answers the second finds the question answered.
  const { nextState } = writer;
  if (!isInterrupted(nextState)) {
    return refuse(engine, live, { incoming, why: takesNoMessage(writer.taskId, nextState) });
  }
  const at = writer.statusTime(engine.now());
  const stored = storable(engine, { task: live.task, message: incoming.message, at });
  const { run } = live;
  const after = writer.head;
  const parked = run?.isParked === true ? run : undefined;
  const epoch = parked?.epoch ?? writer.fence();
  const received = asReceived(live, incoming.message);
  const push = incoming.push?.(writer.taskId, after);
  const arrived = arrival(live, { incoming, stored, at });
  const working = engine.status(live, "working", { trace: parked?.trace ?? incoming.trace });
  const committed = await writer.append([arrived, working], {
    epoch,
    message: { messageId: received.messageId, digest: digestOf(stored) },
    wakeAt: deadline ?? null,
    ...(push && { push }),
  });
  if (committed.kind !== "committed") return joinOrRefuse(engine, live, { incoming, committed });
  if (push !== undefined) beginPush(engine, writer.taskId, push);
  if (parked === undefined) {
    // The message is stored: its task must not stay without a run because a read failed.
    await engine.keepTrying(writer, () => goOn(engine, live, { epoch, incoming, after }));
  } else parked.resume(received);
  return { live, after };
}

/** A message to an agent that takes them while it works. */
async function tellWorking(engine: Engine, live: LiveTask, incoming: Incoming): Promise<Accepted> {
  const { writer, inbox } = live;
  const after = writer.head;
  const received = asReceived(live, incoming.message);
  const push = incoming.push?.(writer.taskId, after);
  const at = writer.statusTime(engine.now());
  const arrived = arrival(live, { incoming, stored: incoming.message, at });
  const committed = await writer.append([arrived], {
    epoch: writer.epoch,
    message: { messageId: received.messageId, digest: digestOf(incoming.message) },
    ...(push && { push }),
  });
  if (committed.kind !== "committed") return joinOrRefuse(engine, live, { incoming, committed });
  if (push !== undefined) beginPush(engine, writer.taskId, push);
  inbox.put(received, committed.head);
  return { live, after };
}

/** A message that the task has already, whatever became of it since: nothing is appended (G6). */
async function joinRetried(engine: Engine, live: LiveTask, incoming: Incoming): Promise<Accepted> {
  const { writer } = live;
  const { message } = incoming;
  const committed = await writer.append([], {
    epoch: writer.epoch,
    message: { messageId: message.messageId, digest: digestOf(message) },
  });
  return joinOrRefuse(engine, live, { incoming, committed });
}

/** The message began a turn of its own, or it answers a run that is not in memory any more. */
async function goOn(
  engine: Engine,
  live: LiveTask,
  arrived: { readonly epoch: number; readonly incoming: Incoming; readonly after: Seq },
): Promise<void> {
  const { epoch, incoming, after } = arrived;
  const { owner, contextId, writer, task } = live;
  const { head } = writer;
  const endedTurn = await turnEndedAt(engine.backend, writer.taskId, after);
  const message = asReceived(live, incoming.message);
  if (endedTurn === undefined) {
    const { log } = await readTurnLog(engine.backend, writer.taskId);
    // The log may have less of it than was sent.
    log.tell(message);
    await beginAnew(engine, live, { epoch, log });
    return;
  }
  const context = { owner, contextId, before: live.position };
  const said = (task.history ?? []).filter(({ messageId }) => messageId !== message.messageId);
  const conversation = [...(await conversationBefore(engine.backend, context)), ...said];
  const { caller, trace, extensions = NO_EXTENSIONS } = incoming;
  const begun = { epoch, turn: endedTurn + 1, attempt: 1, journal: [], task, announced: true };
  live.inbox.begin([], head);
  engine.start(live, { ...begun, message, conversation, caller, trace, extensions });
}

function joinOrRefuse(
  engine: Engine,
  { writer }: LiveTask,
  { incoming, committed }: { readonly incoming: Incoming; readonly committed: Committed },
): Promise<Accepted> {
  if (committed.kind === "duplicate") return joinTask(engine, incoming, committed);
  throw takesNoMessage(writer.taskId, writer.nextState);
}

/** The message with the ids it has from here on. */
function asReceived({ writer, contextId }: LiveTask, message: Message): Message {
  return { ...message, taskId: writer.taskId, contextId };
}

function arrival(
  live: LiveTask,
  facts: { readonly incoming: Incoming; readonly stored: Message; readonly at: string },
): AgentEvent {
  const { incoming, stored, at } = facts;
  return {
    kind: "internal:message",
    taskId: live.writer.taskId,
    message: asReceived(live, stored),
    timestamp: at,
    ...activatedFields(incoming.extensions),
  };
}

function takesNoMessage(taskId: string, state: string): A2AError {
  const works = state === "working" || state === "submitted";
  const why = works ? "takes no message while the agent works" : "takes no more messages";
  return new A2AError("UnsupportedOperation", `task ${taskId} is ${state} and ${why}`, {
    details: { taskId, state },
  });
}
