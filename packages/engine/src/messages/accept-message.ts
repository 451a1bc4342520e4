import {
  A2AError,
  APPROVAL_OPTIONS,
  type AgentEvent,
  type Approval,
  type ApprovalAnswer,
  type Caller,
  type Message,
  type Task,
  type TraceContext,
  invalidParams,
  isInterrupted,
  openApprovals,
} from "@convoke/protocol";
import type { AcceptedMessage, CommitResult, NewPush, Seq } from "../log/backend.ts";
import type { ServedAgent } from "../run/agents.ts";
import type { Engine } from "../run/engine.ts";
import { type LiveTask, isEmpty } from "../run/live-task.ts";
import type { TaskSnapshot } from "../log/task-snapshot.ts";
import {
  NO_EXTENSIONS,
  type Sender,
  readTurnLog,
  senderFields,
  senderNote,
  turnEndedAt,
} from "../log/turn-log.ts";
import { conversationBefore } from "../log/conversation.ts";
import { digestMessage, joinTask, toStoredMessage, translateMessage } from "./join-task.ts";
import { newId } from "../task/new-id.ts";
import { traceFields } from "../task/status.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { checkHistory } from "../task/limits.ts";
import { startAttempt } from "../run/resume-task.ts";

/** How a task that a message creates differs from other tasks of the agent. */
export interface NewTaskOptions {
  /** Time limit of the task in milliseconds, in addition to that of the agent. Default none. */
  readonly timeoutMs?: number | undefined;
  /**
   * Creates a task even if the agent answers with a message alone, for callers that only know tasks.
   * Default false.
   */
  readonly isAnnounced?: boolean | undefined;
}

/** A message from a caller. */
export interface Incoming extends Sender {
  /** The agent that the message is for. Default: the first one of the engine. */
  readonly agent?: ServedAgent | undefined;
  readonly message: Message;
  readonly trace?: TraceContext | undefined;
  /**
   * Whether a message with the id of an earlier one is a retry of it. Default true. If false, the id
   * is not recorded, and the message is a new one whatever its id.
   */
  readonly isRetryable?: boolean | undefined;
  /** Creates the push config sent with the message, for the task and the events after a position of its log. */
  readonly push?: ((taskId: string, after: Seq) => NewPush) | undefined;
  /** The mailbox entry in which another process has passed the message on. */
  readonly mailboxId?: string | undefined;
  /** The id of a new task, chosen by code in this process; requests never choose it. Default: a generated id. */
  readonly newTaskId?: string | undefined;
  readonly newTask?: NewTaskOptions | undefined;
}

/** A message whose agent is known. */
export interface AddressedMessage extends Incoming {
  readonly agent: ServedAgent;
}

/** The task that accepted a message. */
export interface AcceptedTask {
  readonly live: LiveTask;
  /** The last sequence before this message: a stream of its turn starts after it. */
  readonly after: Seq;
  /** For a retry: the task when the message first arrived. */
  readonly joined?: TaskSnapshot;
}

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

/** Creates a task in the same transaction that stores the messageId, and starts the agent on it. */
async function beginTask(engine: Engine, incoming: AddressedMessage): Promise<AcceptedTask> {
  const { agent, message, caller, trace, extensions = NO_EXTENSIONS } = incoming;
  agent.requireEnabled();
  const { owner } = caller;
  await followContext(engine, incoming);
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
  await engine.openTasks.admit(owner);
  const live = engine.tasks.create({ agent, taskId, owner, contextId, now, createdAt, timeoutMs });
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
  const announced = isAnnounced || !agent.info.replies;
  const push = incoming.push?.(taskId, 0);
  try {
    const working = announced ? [engine.status(live, "working", { trace })] : [];
    const committed = await live.writer.append(
      [task, ...senderNote(taskId, incoming), ...working],
      {
        epoch: 1,
        create: {
          owner,
          contextId,
          agent: agent.info.name,
          agentId: agent.id,
          createdAt,
          ...(isOpening && { unlessForgotten: true }),
        },
        ...recordedId(incoming, message),
        listed: announced,
        ...(live.deadline !== undefined && { wakeAt: live.deadline }),
        ...(push && { push }),
        running: true,
      },
    );
    if (committed.kind === "duplicate") return await joinTask(engine, incoming, committed);
    if (committed.kind === "forgotten") throw expiredContext();
    engine.metrics.count("tasksStarted");
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

/** In a shared storage, the clock of the process that created the last task of a context may be ahead of this one. */
async function followContext(
  engine: Engine,
  { agent, message: { contextId }, caller: { owner } }: AddressedMessage,
): Promise<void> {
  if (engine.sharing === undefined || contextId === undefined) return;
  const position = { createdAt: Number.MAX_SAFE_INTEGER, taskId: "" };
  const context = engine.contextOf({ owner, contextId, agent, position });
  const [newest] = await engine.backend.tasks.ofContext({ ...context, limit: 1 });
  if (newest !== undefined) engine.clock.follow(newest.createdAt);
}

/** The id to store with the message, so that a retry is recognized. */
function recordedId(
  { isRetryable = true }: Incoming,
  message: Message,
): { readonly message?: AcceptedMessage } {
  if (!isRetryable) return {};
  return { message: { messageId: message.messageId, digest: digestMessage(message) } };
}

export function expiredContext(): A2AError {
  const problem = "names a conversation that has expired; leave contextId out to begin a new one";
  return invalidParams("message.contextId", problem);
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

/** Another process has changed the task since it was read. */
class TaskMoved extends A2AError {
  constructor(taskId: string) {
    super("Unavailable", `task ${taskId} is being changed by others; send the same message again`);
  }
}

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

/** Accepts the answer of the caller and resumes the agent: the run that asked, or a new one. */
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
    running: true,
    ...mailboxOf(given),
  });
  if (committed.kind !== "committed") return joinOrRefuse(engine, live, { incoming, committed });
  if (approvals.length > 0) auditAnswer(engine, received, { approvals, caller: incoming.caller });
  if (push !== undefined) engine.startPush(writer.taskId, push);
  if (parked === undefined) {
    // The message is stored, so its task must get a run even if a read fails at first.
    const arrival = { epoch, incoming, after, isFirst };
    await engine.keepTrying(writer, () => startRun(engine, live, arrival));
  } else parked.resume(received, incoming.trace);
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
    /** Whether it is the first message of a task that was created without one. */
    readonly isFirst: boolean;
  },
): Promise<void> {
  const { epoch, incoming, after, isFirst } = arrived;
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
  const begun = { epoch, turn: endedTurn + 1, attempt: 1, journal: [], task, announced: true };
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
