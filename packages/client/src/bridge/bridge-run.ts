import {
  A2AError,
  type AgentEvent,
  type Connection,
  ENGINE_EVENTS,
  ERRORS,
  type InternalEvent,
  type InternalEventBase,
  type Message,
  type PublicEvent,
  RemoteError,
  ServerStopping,
  type StatusUpdateEvent,
  type Task,
  type Turn,
  applyEvent,
  isInterrupted,
  isMessageReceived,
  isTerminal,
} from "@convoke/protocol";
import type { RunRequest, TaskEventSource } from "../run/task-events.ts";
import { followSettings } from "../run/follow-options.ts";
import { ResumingSource } from "../run/resuming-source.ts";
import { eventsBetween } from "../run/snapshot-events.ts";

/** Journal entry: a question of the remote agent was forwarded. */
const REMOTE_QUESTION = "internal:remote-question";

/** Journal entry: the remote agent has received the caller's answer. */
const REMOTE_ANSWER = "internal:remote-answer";

/** Journal entry that the engine knows: the turn waits for an answer. */
const ASK = "internal:ask";

type Batch = AgentEvent | readonly AgentEvent[];

/** Time limit for canceling the remote task. */
const CANCEL_MS = 10_000;

/**
 * A turn of a local task that a remote agent works on. The ids of the remote task are journalled with
 * its first event, and every message has an id derived from the local one: a turn that runs again
 * finds the same remote task, and the engine compares the events that it yields again with the log.
 */
export class BridgeRun {
  readonly #connection: Connection;
  readonly #turn: Turn;
  readonly #journal: BridgeJournal;
  #remote: RemoteTaskNote | undefined;
  /** The remote task, as far as this attempt has forwarded it. */
  #forwardedTask: Task | undefined;
  #questions = 0;

  constructor(connection: Connection, turn: Turn) {
    this.#connection = connection;
    this.#turn = turn;
    this.#journal = new BridgeJournal(turn.journal);
    this.#remote = this.#journal.remote;
  }

  async *read(): AsyncGenerator<Batch, void, undefined> {
    const { signal } = this.#turn;
    try {
      yield* this.#work();
    } catch (error) {
      throw error instanceof RemoteError ? toAgentError(error) : error;
    } finally {
      if (signal.aborted && !ServerStopping.is(signal.reason)) this.#cancelRemote();
    }
  }

  async *#work(): AsyncGenerator<Batch, void, undefined> {
    let isWaiting =
      this.#remote === undefined
        ? yield* this.#open()
        : yield* this.#forward(this.#attach(this.#remote));
    while (isWaiting) {
      const { undelivered } = this.#journal;
      const answer = undelivered ?? (await this.#turn.park());
      if (answer === undefined) throw new Error("no answer for the remote agent arrived in time");
      this.#journal.settle();
      const source = await this.#answer(answer, undelivered !== undefined);
      isWaiting = yield* this.#forward(source, answer);
    }
  }

  /** Creates the remote task and forwards its events; returns whether it then waits for the caller. */
  async *#open(): AsyncGenerator<Batch, boolean, undefined> {
    const { caller, task, message } = this.#turn;
    const contextId = await remoteContextId(caller.owner, task.contextId);
    try {
      return yield* this.#forward(this.#send({ ...this.#toRemoteMessage(message), contextId }));
    } catch (error) {
      // An agent may insist on choosing context ids itself (1.0 §3.4.1).
      if (this.#remote !== undefined || !isInvalid(error)) throw error;
      return yield* this.#forward(this.#send(this.#toRemoteMessage(message)));
    }
  }

  /** Forwards events; returns whether the remote agent then waits for the caller. */
  async *#forward(
    source: TaskEventSource,
    answer?: Message,
  ): AsyncGenerator<Batch, boolean, undefined> {
    let isDelivered = answer === undefined;
    for await (const { event, id } of source.read(this.#turn.signal)) {
      if (event.kind === "message") {
        yield this.#withLocalIds(event);
        return false;
      }
      if (this.#remote === undefined) yield this.#noteRemote(event, id);
      if (!isDelivered) yield this.#note(REMOTE_ANSWER, { messageId: answer?.messageId });
      isDelivered = true;
      for (const change of this.#changes(event)) {
        this.#forwardedTask = applyEvent(this.#forwardedTask, change);
        if (isQuestion(change)) {
          if (yield* this.#question(change, event.kind === "task")) return true;
        } else if (isWorthForwarding(change)) yield this.#withLocalIds(change);
      }
    }
    const isWaiting =
      this.#forwardedTask !== undefined && isInterrupted(this.#forwardedTask.status.state);
    if (isWaiting) yield this.#note(ASK, {});
    return isWaiting;
  }

  /** What an event adds to what was already forwarded. */
  #changes(event: Exclude<PublicEvent, Message>): readonly PublicEvent[] {
    const id = event.kind === "task" ? event.id : event.taskId;
    const { contextId } = event;
    // Whatever happened before, this attempt has forwarded nothing yet.
    this.#forwardedTask ??= { kind: "task", id, contextId, status: { state: "submitted" } };
    return event.kind === "task" ? eventsBetween(this.#forwardedTask, event) : [event];
  }

  /**
   * Forwards a question, unless an earlier attempt did; returns whether to wait for its answer. An
   * agent that waits for an authorization may continue by itself, so its stream is read for as long
   * as it stays open.
   */
  async *#question(
    status: StatusUpdateEvent,
    isSnapshot: boolean,
  ): AsyncGenerator<Batch, boolean, undefined> {
    const { asked, isWaiting, undelivered } = this.#journal;
    const isInput = status.status.state === "input-required";
    // A snapshot contains only the last question: the one that was asked last, or a new one.
    if (isSnapshot && this.#questions < asked) {
      this.#questions = isWaiting || undelivered !== undefined ? asked - 1 : asked;
    }
    this.#questions++;
    if (this.#questions < asked) return false;
    if (this.#questions === asked) return undelivered !== undefined || (isWaiting && isInput);
    const question = this.#note(REMOTE_QUESTION, {});
    const asks = isInput ? [this.#note(ASK, {})] : [];
    yield [question, ...asks, this.#withLocalIds(status)];
    return isInput;
  }

  async #answer(answer: Message, isRetry: boolean): Promise<TaskEventSource> {
    const remote = this.#remote!;
    const message = { ...this.#toRemoteMessage(answer), taskId: remote.remoteTaskId };
    if (isRetry && (await this.#hasReceived(remote, message))) {
      return this.#source({ kind: "subscribe", taskId: remote.remoteTaskId });
    }
    return this.#send({ ...message, contextId: remote.remoteContextId });
  }

  /** Whether an earlier attempt sent the message but stopped before it could journal that. */
  async #hasReceived({ remoteTaskId }: RemoteTaskNote, { messageId }: Message): Promise<boolean> {
    const { signal } = this.#turn;
    const task = await this.#connection.call("getTask", { taskId: remoteTaskId }, { signal });
    return task.history?.some((message) => message.messageId === messageId) === true;
  }

  #attach({ remoteTaskId, cursor }: RemoteTaskNote): TaskEventSource {
    return this.#source({ kind: "subscribe", taskId: remoteTaskId, lastEventId: cursor });
  }

  #send(message: Message): TaskEventSource {
    return this.#source({ kind: "stream", request: { message, blocking: true } });
  }

  #source(wanted: RunRequest): TaskEventSource {
    const { trace } = this.#turn;
    return new ResumingSource(this.#connection, wanted, followSettings({ trace }));
  }

  /** The caller's message for the remote agent, without local ids, which mean nothing there. */
  #toRemoteMessage(message: Message): Message {
    const { taskId: _task, contextId: _context, referenceTaskIds: _references, ...rest } = message;
    return { ...rest, messageId: `${this.#turn.task.id}:${message.messageId}` };
  }

  /** The event with the ids of the local task. */
  #withLocalIds<Event extends PublicEvent>(event: Event): Event {
    const { id: taskId, contextId } = this.#turn.task;
    if (event.kind !== "status-update" || event.status.message === undefined) {
      return { ...event, taskId, contextId };
    }
    const message = { ...event.status.message, taskId, contextId };
    return { ...event, taskId, contextId, status: { ...event.status, message } };
  }

  #noteRemote(event: Exclude<PublicEvent, Message>, id: string): Batch {
    const remoteTaskId = event.kind === "task" ? event.id : event.taskId;
    const ids = { remoteTaskId, remoteContextId: event.contextId };
    const kind = "internal:remote-task";
    const { taskId } = this.#note(kind, {});
    this.#remote = { kind, taskId, ...ids, ...(id !== "" && { cursor: id }) };
    return [this.#remote];
  }

  #note(kind: InternalEvent["kind"], facts: object): InternalEvent {
    return { kind, taskId: this.#turn.task.id, ...facts } as InternalEvent;
  }

  /** Not awaited: the local task has already ended. */
  #cancelRemote(): void {
    const state = this.#forwardedTask?.status.state;
    if (this.#remote === undefined || (state !== undefined && isTerminal(state))) return;
    const request = { taskId: this.#remote.remoteTaskId };
    const signal = AbortSignal.timeout(CANCEL_MS);
    this.#connection.call("cancelTask", request, { signal }).catch(() => undefined);
  }
}

function isQuestion(event: PublicEvent): event is StatusUpdateEvent {
  return event.kind === "status-update" && isInterrupted(event.status.state);
}

/** The local task has its own submitted state. */
function isWorthForwarding(event: PublicEvent): boolean {
  if (event.kind !== "status-update") return true;
  return event.status.state !== "submitted" && event.status.state !== "unknown";
}

function isInvalid(error: unknown): boolean {
  return error instanceof RemoteError && error.code === ERRORS.InvalidParams.code;
}

/** Errors of the remote agent are meant for the caller; the text of other errors may not be. */
function toAgentError(error: RemoteError): A2AError {
  const text = `the remote agent responded with an error: ${error.message}`;
  return new A2AError("InvalidAgentResponse", text, { cause: error });
}

/** The task that the remote agent made for a local one. */
interface RemoteTaskNote extends InternalEventBase {
  readonly kind: "internal:remote-task";
  readonly remoteTaskId: string;
  readonly remoteContextId: string;
  /** The id of its first event, if the remote agent sends ids. */
  readonly cursor?: string;
}

/** What earlier attempts of a turn have done, so that nothing is done twice. */
class BridgeJournal {
  remote: RemoteTaskNote | undefined;
  /** How many questions of the remote agent were forwarded. */
  asked = 0;
  /** The caller's last answer, if it is not certain that the remote agent has it. */
  undelivered: Message | undefined;
  /** Whether the last question has no answer yet. */
  isWaiting = false;

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
  }

  /** What earlier attempts left open has been handled. */
  settle(): void {
    this.undelivered = undefined;
    this.isWaiting = false;
  }

  #add(event: InternalEvent): void {
    if (event.kind === "internal:remote-task") this.remote = event as RemoteTaskNote;
    else if (event.kind === REMOTE_QUESTION) {
      this.asked++;
      this.isWaiting = true;
    } else if (event.kind === REMOTE_ANSWER) this.undelivered = undefined;
    else if (isMessageReceived(event)) {
      this.undelivered = event.message;
      this.isWaiting = false;
    } else if (event.kind === ENGINE_EVENTS.expired) this.isWaiting = false;
  }
}

/**
 * The context id at the remote agent for a local context of a caller; the same after a restart. It is
 * derived from the owner too, because to the remote agent all local callers are one: a caller who
 * names the context of another must not reach it there.
 */
export async function remoteContextId(owner: string, contextId: string): Promise<string> {
  const name = new TextEncoder().encode(JSON.stringify(["convoke bridge", owner, contextId]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
  const hex = Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0"));
  // UUID version 8 (RFC 9562): custom content.
  hex[6] = `8${hex[6]![1]}`;
  hex[8] = `a${hex[8]![1]}`;
  const text = hex.join("");
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => text.slice(index === 0 ? 0 : ends[index - 1], end))
    .join("-");
}
