import {
  A2AError,
  APPROVAL_OPTIONS,
  type AgentEvent,
  type Approval,
  type ApprovalAnswer,
  type Caller,
  type Message,
  invalidParams,
  isInterrupted,
  openApprovals,
} from "@convoke/protocol";
import type { CommitResult, Seq } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import { type LiveTask, isEmpty } from "../run/live-task.ts";
import { TaskMoved } from "../run/task-errors.ts";
import { NO_EXTENSIONS, readTurnLog, senderFields, turnEndedAt } from "../log/turn-log.ts";
import { conversationBefore } from "../log/conversation.ts";
import { beginTask } from "./begin-task.ts";
import { type AcceptedTask, type AddressedMessage, type Incoming, recordedId } from "./incoming.ts";
import { joinTask, toStoredMessage, translateMessage } from "./join-task.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { checkHistory } from "../task/limits.ts";
import { startAttempt } from "../run/resume-task.ts";

const ROLE_PROBLEM = 'must be "user" (ROLE_USER in 1.0): callers do not speak for the agent';

/** Passes a message to the task it names, or creates a task for it. */
export function acceptMessage(engine: Engine, given: Incoming): Promise<AcceptedTask> {
  const incoming = { ...given, agent: given.agent ?? engine.agents.first };
  const { taskId, role } = incoming.message;
  if (role !== "user") return Promise.reject(invalidParams("message.role", ROLE_PROBLEM));
  return taskId === undefined
    ? beginTask(engine, incoming)
    : continueTask(engine, incoming, taskId);
}

/** Passes a message to a task that waits for one, or to an agent that accepts messages while it works. */
async function continueTask(
  engine: Engine,
  incoming: AddressedMessage,
  taskId: string,
): Promise<AcceptedTask> {
  const { message, caller } = incoming;
  const live = await engine.tasks.openFor(engine.scope(caller, incoming.agent), taskId);
  try {
    const { definition } = live.requireAgent();
    if (message.contextId !== undefined && message.contextId !== live.contextId) {
      throw invalidParams("message.contextId", `is not the context of task ${taskId}`);
    }
    for (let attempt = 1; ; attempt++) {
      await untilSuspended(live);
      await definition.beforeAccept?.(live.task);
      if (incoming.isRetryable !== false) {
        // The same message may be arriving already: then this one is a retry of it.
        while (live.arriving.has(message.messageId)) await live.arriving.get(message.messageId);
      }
      try {
        return await receive(engine, live, incoming);
      } catch (error) {
        // Another process was faster: look again at what the task waits for now.
        if (!(error instanceof TaskMoved) || attempt === MAX_ATTEMPTS) throw error;
        await engine.tasks.refresh(live);
      }
    }
  } finally {
    engine.tasks.release(live);
  }
}

/** How often a message is tried on a task that other processes change at the same time. */
const MAX_ATTEMPTS = 5;

/** How long to wait for an agent that has asked a question to suspend or end its turn. */
const SUSPEND_MS = 500;

/**
 * An agent that has just asked a question is about to suspend or to end its turn,
 * and the answer is for whatever follows. If it does neither in time, proceed.
 */
async function untilSuspended({ run, writer }: LiveTask): Promise<void> {
  if (run === undefined || run.isParked || !isInterrupted(writer.nextState)) return;
  await Promise.race([run.idle(), sleep(SUSPEND_MS, undefined, { ref: false })]);
}

export function receive(
  engine: Engine,
  live: LiveTask,
  incoming: AddressedMessage,
): Promise<AcceptedTask> {
  const { taskId, nextState } = live.writer;
  const { message } = incoming;
  if (incoming.isRetryable !== false && live.hasReceived(message)) {
    return joinRetried(engine, live, incoming);
  }
  checkHistory(live.task, engine.limits);
  if (waitsForMessage(live)) return arriving(live, message, answer(engine, live, incoming));
  const isWelcome = nextState === "working" && live.requireAgent().info.takesMessages;
  if (!isWelcome)
    return refuse(engine, live, { incoming, error: takesNoMessage(taskId, nextState) });
  const isHere = engine.sharing === undefined || engine.tasks.isCurrent(live);
  const deliver = isHere ? deliverToWorking : forwardToWorking;
  return arriving(live, message, deliver(engine, live, incoming));
}

/** Rejects a message that the task does not wait for, with the error of the agent if it throws one. */
async function refuse(
  engine: Engine,
  live: LiveTask,
  { incoming, error }: { readonly incoming: AddressedMessage; readonly error: A2AError },
): Promise<never> {
  await live.writer.settled;
  const at = live.writer.statusTime(engine.now());
  const { definition } = live.requireAgent();
  toStoredMessage(definition, { task: live.task, message: incoming.message, at });
  throw error;
}

/** Makes a retry that arrives meanwhile wait for the first message. */
function arriving(
  live: LiveTask,
  { messageId }: Message,
  accepted: Promise<AcceptedTask>,
): Promise<AcceptedTask> {
  const forget = (): void => void live.arriving.delete(messageId);
  live.arriving.set(messageId, accepted.then(forget, forget));
  return accepted;
}

/** Whether the task waits for its caller: for an answer, or for its first message. */
function waitsForMessage(live: LiveTask): boolean {
  return isInterrupted(live.writer.nextState) || isEmpty(live);
}

/**
 * Accepts the answer of the caller and resumes the agent: the run that asked, or a new one. If the
 * task has to run on another host, a process there claims it and resumes the agent.
 */
async function answer(
  engine: Engine,
  live: LiveTask,
  given: AddressedMessage,
): Promise<AcceptedTask> {
  const { writer, deadline } = live;
  if (writer.settled !== undefined) {
    // The answer must follow the question, so wait until the question is stored.
    await writer.settled;
    await untilSuspended(live);
  }
  // No await until the append: of two answers, the second finds the question answered.
  if (!waitsForMessage(live)) {
    const error = takesNoMessage(writer.taskId, writer.nextState);
    return refuse(engine, live, { incoming: given, error });
  }
  const isFirst = isEmpty(live);
  const { definition } = live.requireAgent();
  const incoming = { ...given, message: translateMessage(definition, live.task, given.message) };
  const at = writer.statusTime(engine.now());
  const stored = toStoredMessage(definition, { task: live.task, message: incoming.message, at });
  const { run } = live;
  const isElsewhere = engine.tasks.isElsewhere(live);
  const after = writer.head;
  const parked = run?.isParked === true ? run : undefined;
  const epoch = parked?.epoch ?? writer.fence();
  const received = asReceived(live, incoming.message);
  const push = incoming.push?.(writer.taskId, after);
  const approvals = openApprovals(live.task, new Date(engine.now()));
  const arrived = arrivalEvent(live, { incoming, stored, at });
  const working = engine.status(live, "working", { trace: parked?.trace ?? incoming.trace });
  const committed = await writer.append([arrived, working], {
    epoch,
    ...recordedId(incoming, stored),
    wakeAt: deadline ?? null,
    ...(push && { push }),
    running: isElsewhere ? "elsewhere" : true,
    ...mailboxOf(given),
  });
  if (committed.kind !== "committed") return joinOrRefuse(engine, live, { incoming, committed });
  if (approvals.length > 0) auditAnswer(engine, received, { approvals, caller: incoming.caller });
  if (push !== undefined) engine.startPush(writer.taskId, push);
  if (isElsewhere) return { live, after };
  if (parked === undefined) {
    // The message is stored, so its task must get a run even if a read fails at first.
    const arrival = { epoch, incoming, after, at, isFirst };
    await engine.keepTrying(writer, () => startRun(engine, live, arrival));
  } else parked.resume(received, at, incoming.trace);
  return { live, after };
}

/** Records which approvals a message answers, and how. An answer in words is interpreted by the agent. */
function auditAnswer(
  engine: Engine,
  { taskId, parts }: Message,
  { approvals, caller }: { readonly approvals: readonly Approval[]; readonly caller: Caller },
): void {
  const answers = parts.flatMap((part) =>
    part.kind === "data" ? [(part.data ?? {}) as Partial<ApprovalAnswer>] : [],
  );
  const chosen = approvals.map(({ id, tool }) => {
    const given = answers.find(({ approvalId }) => approvalId === id)?.option;
    const option = APPROVAL_OPTIONS.find((known) => known === given);
    return { approvalId: id, tool: tool.name, option };
  });
  const decided = chosen.filter(({ option }) => option !== undefined);
  const { owner, tenant } = caller;
  for (const one of decided.length > 0 ? decided : chosen) {
    engine.audit.record("approval.answered", {
      ...one,
      option: one.option ?? "in words",
      taskId,
      owner,
      tenant,
    });
  }
}

/** Passes a message to an agent that accepts messages while it works. */
async function deliverToWorking(
  engine: Engine,
  live: LiveTask,
  incoming: AddressedMessage,
): Promise<AcceptedTask> {
  const { writer, inbox } = live;
  const after = writer.head;
  const received = asReceived(live, incoming.message);
  const push = incoming.push?.(writer.taskId, after);
  const at = writer.statusTime(engine.now());
  const arrived = arrivalEvent(live, { incoming, stored: incoming.message, at });
  const committed = await writer.append([arrived], {
    epoch: writer.epoch,
    ...recordedId(incoming, incoming.message),
    ...(push && { push }),
    ...mailboxOf(incoming),
  });
  if (committed.kind !== "committed") return joinOrRefuse(engine, live, { incoming, committed });
  if (push !== undefined) engine.startPush(writer.taskId, push);
  inbox.put(received, committed.head);
  return { live, after };
}

/** Passes a message to an agent that works in another process. */
async function forwardToWorking(
  engine: Engine,
  live: LiveTask,
  incoming: AddressedMessage,
): Promise<AcceptedTask> {
  const { writer } = live;
  const { message, caller, extensions, trace, isRetryable = true } = incoming;
  const after = writer.head;
  const push = incoming.push?.(writer.taskId, after);
  const sent = { message, caller, trace, isRetryable, push, extensions: [...(extensions ?? [])] };
  const entry = { json: JSON.stringify(sent), ...recordedId(incoming, message) };
  const forwarded = await engine.sharing!.forward(live, { kind: "message", ...entry });
  if (forwarded.kind === "duplicate") return joinTask(engine, incoming, forwarded);
  if (forwarded.kind === "claimed") return deliverToWorking(engine, live, incoming);
  if (live.hasReceived(message)) return { live, after };
  throw takesNoMessage(writer.taskId, writer.nextState);
}

/** A message that the task has received before: nothing is appended, whatever happened since (G6). */
async function joinRetried(
  engine: Engine,
  live: LiveTask,
  incoming: AddressedMessage,
): Promise<AcceptedTask> {
  const { writer } = live;
  const committed = await writer.append([], {
    epoch: writer.epoch,
    ...recordedId(incoming, incoming.message),
    ...mailboxOf(incoming),
  });
  return joinOrRefuse(engine, live, { incoming, committed });
}

/** Starts the run for a message that starts a new turn, or that answers a run that was evicted. */
async function startRun(
  engine: Engine,
  live: LiveTask,
  arrived: {
    readonly epoch: number;
    readonly incoming: Incoming;
    readonly after: Seq;
    /** When it arrived. */
    readonly at: string;
    /** Whether it is the first message of a task that was created without one. */
    readonly isFirst: boolean;
  },
): Promise<void> {
  const { epoch, incoming, after, at: startedAt, isFirst } = arrived;
  const { writer, task } = live;
  const { head } = writer;
  const endedTurn = isFirst ? 0 : await turnEndedAt(engine.backend, writer.taskId, after);
  const message = asReceived(live, incoming.message);
  if (endedTurn === undefined) {
    const { log } = await readTurnLog(engine.backend, writer.taskId);
    // The agent may have let only a part of the message be stored.
    log.restoreMessage(message);
    await startAttempt(engine, live, { epoch, log, link: incoming.trace });
    return;
  }
  const context = engine.contextOf(live);
  const history = task.history ?? [];
  const own = history.findLastIndex(({ messageId }) => messageId === message.messageId);
  const earlier = own === -1 ? history : history.toSpliced(own, 1);
  const conversation = [...(await conversationBefore(engine.backend, context)), ...earlier];
  const { caller, trace, extensions = NO_EXTENSIONS } = incoming;
  const begun = {
    epoch,
    turn: endedTurn + 1,
    attempt: 1,
    journal: [],
    task,
    startedAt,
    announced: true,
  };
  live.inbox.begin([], head);
  engine.start(live, { ...begun, message, conversation, caller, trace, extensions });
}

function joinOrRefuse(
  engine: Engine,
  { writer }: LiveTask,
  {
    incoming,
    committed,
  }: { readonly incoming: AddressedMessage; readonly committed: CommitResult },
): Promise<AcceptedTask> {
  if (committed.kind === "duplicate") return joinTask(engine, incoming, committed);
  if (committed.kind === "stale" && engine.sharing !== undefined) {
    throw new TaskMoved(writer.taskId);
  }
  throw takesNoMessage(writer.taskId, writer.nextState);
}

function mailboxOf({ mailboxId }: Incoming): { readonly mailbox?: readonly string[] } {
  return mailboxId === undefined ? {} : { mailbox: [mailboxId] };
}

/** The message with the ids of its task and context. */
function asReceived({ writer, contextId }: LiveTask, message: Message): Message {
  return { ...message, taskId: writer.taskId, contextId };
}

function arrivalEvent(
  live: LiveTask,
  facts: { readonly incoming: Incoming; readonly stored: Message; readonly at: string },
): AgentEvent {
  const { incoming, stored, at } = facts;
  return {
    kind: "internal:message",
    taskId: live.writer.taskId,
    message: asReceived(live, stored),
    timestamp: at,
    ...senderFields(incoming),
  };
}

function takesNoMessage(taskId: string, state: string): A2AError {
  const works = state === "working" || state === "submitted";
  const why = works ? "accepts no messages while the agent is working" : "accepts no more messages";
  return new A2AError("UnsupportedOperation", `task ${taskId} is ${state} and ${why}`, {
    details: { taskId, state },
  });
}
