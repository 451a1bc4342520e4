import {
  A2AError,
  type AgentEvent,
  applyEvent,
  type Connection,
  ERRORS,
  type InternalEvent,
  isInterrupted,
  isMessageReceived,
  isTerminal,
  type Message,
  NOTES,
  type PublicEvent,
  RemoteError,
  ServerStopping,
  type StatusUpdateEvent,
  type Task,
  type Turn,
} from "@convoke/protocol";
import type { TaskEventSource, RunRequest } from "../run/task-events.ts";
import { followSettings } from "../run/follow-options.ts";
import { ResumingSource } from "../run/resuming-source.ts";
import { eventsBetween } from "../run/snapshot-events.ts";

/** A question of the remote agent was passed on. */
const REMOTE_QUESTION = "internal:remote-question";

/** The remote agent has the caller's answer. */
const REMOTE_ANSWER = "internal:remote-answer";

/** The engine understands it: a turn that has asked waits for its answer. */
const ASK = "internal:ask";

type Batch = AgentEvent | readonly AgentEvent[];

/** For how long it is tried to cancel the remote task. */
const CANCEL_MS = 10_000;

/**
 * A turn of a local task, done by a remote agent. The ids of the remote task are
 * journalled with its first event, and every message has an id that is derived
 * from the local one: a turn that is begun anew finds the same remote task, and
 * what it says again is compared by the engine with what it said before.
 */
export class BridgeRun {
  readonly #connection: Connection;
  readonly #turn: Turn;
  readonly #journal: BridgeJournal;
  #remote: RemoteTaskNote | undefined;
  /** The remote task, as far as it was passed on in this attempt. */
  #shown: Task | undefined;
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
      throw error instanceof RemoteError ? inOwnWords(error) : error;
    } finally {
      if (signal.aborted && !ServerStopping.is(signal.reason)) this.#cancelRemote();
    }
  }

  async *#work(): AsyncGenerator<Batch, void, undefined> {
    let isWaiting =
      this.#remote === undefined
        ? yield* this.#open()
        : yield* this.#passOn(this.#attach(this.#remote));
    while (isWaiting) {
      const { undelivered } = this.#journal;
      const answer = undelivered ?? (await this.#turn.park());
      if (answer === undefined) throw new Error("nobody answered the remote agent in time");
      this.#journal.settle();
      const source = await this.#answer(answer, undelivered !== undefined);
      isWaiting = yield* this.#passOn(source, answer);
    }
  }

  /** Begins the remote task and passes it on; whether it then waits for the caller. */
  async *#open(): AsyncGenerator<Batch, boolean, undefined> {
    const { caller, task, message } = this.#turn;
    const contextId = await remoteContextId(caller.owner, task.contextId);
    try {
      return yield* this.#passOn(this.#send({ ...this.#forwarded(message), contextId }));
    } catch (error) {
      // An agent may want to choose the ids of its contexts itself (1.0 §3.4.1).
      if (this.#remote !== undefined || !isInvalid(error)) throw error;
      return yield* this.#passOn(this.#send(this.#forwarded(message)));
    }
  }

  /** Passes on what comes; whether the remote agent then waits for the caller. */
  async *#passOn(
    source: TaskEventSource,
    answer?: Message,
  ): AsyncGenerator<Batch, boolean, undefined> {
    let isDelivered = answer === undefined;
    for await (const { event, id } of source.read(this.#turn.signal)) {
      if (event.kind === "message") {
        yield this.#own(event);
        return false;
      }
      if (this.#remote === undefined) yield this.#noteRemote(event, id);
      if (!isDelivered) yield this.#note(REMOTE_ANSWER, { messageId: answer?.messageId });
      isDelivered = true;
      for (const change of this.#changes(event)) {
        this.#shown = applyEvent(this.#shown, change);
        if (isQuestion(change)) {
          if (yield* this.#question(change, event.kind === "task")) return true;
        } else if (isWorthTelling(change)) yield this.#own(change);
      }
    }
    const isWaiting = this.#shown !== undefined && isInterrupted(this.#shown.status.state);
    if (isWaiting) yield this.#note(ASK, {});
    return isWaiting;
  }

  /** What an event adds to what was passed on. */
  #changes(event: Exclude<PublicEvent, Message>): readonly PublicEvent[] {
    const id = event.kind === "task" ? event.id : event.taskId;
    const { contextId } = event;
    // Whatever it was before, nothing of it was passed on in this attempt.
    this.#shown ??= { kind: "task", id, contextId, status: { state: "submitted" } };
    return event.kind === "task" ? eventsBetween(this.#shown, event) : [event];
  }

  /**
   * Passes on a question, unless an earlier attempt did; whether the answer to it
   * is to be waited for. An agent that waits for an authorization may go on by
   * itself, so its stream is read on for as long as it keeps it open.
   */
  async *#question(
    status: StatusUpdateEvent,
    isSnapshot: boolean,
  ): AsyncGenerator<Batch, boolean, undefined> {
    const { asked, isWaiting, undelivered } = this.#journal;
    const isInput = status.status.state === "input-required";
    // A snapshot shows the last question alone: either the one that was asked last, or a new one.
    if (isSnapshot && this.#questions < asked) {
      this.#questions = isWaiting || undelivered !== undefined ? asked - 1 : asked;
    }
    this.#questions++;
    if (this.#questions < asked) return false;
    if (this.#questions === asked) return undelivered !== undefined || (isWaiting && isInput);
    const question = this.#note(REMOTE_QUESTION, {});
    const asks = isInput ? [this.#note(ASK, {})] : [];
    yield [question, ...asks, this.#own(status)];
    return isInput;
  }

  async #answer(answer: Message, isAgain: boolean): Promise<TaskEventSource> {
    const remote = this.#remote!;
    const message = { ...this.#forwarded(answer), taskId: remote.remoteTaskId };
    if (isAgain && (await this.#hasReceived(remote, message))) {
      return this.#source({ kind: "subscribe", taskId: remote.remoteTaskId });
    }
    return this.#send({ ...message, contextId: remote.remoteContextId });
  }

  /** Whether an earlier attempt sent the message, and was ended before it could say so. */
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

  /** The caller's message as the remote agent gets it: the ids of this side mean nothing there. */
  #forwarded(message: Message): Message {
    const { taskId: _task, contextId: _context, referenceTaskIds: _references, ...rest } = message;
    return { ...rest, messageId: `${this.#turn.task.id}:${message.messageId}` };
  }

  /** The event with the ids of this side. */
  #own<Event extends PublicEvent>(event: Event): Event {
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
    return { kind, taskId: this.#turn.task.id, ...facts };
  }

  /** Nobody waits for it: the local task is over already. */
  #cancelRemote(): void {
    const state = this.#shown?.status.state;
    if (this.#remote === undefined || (state !== undefined && isTerminal(state))) return;
    const request = { taskId: this.#remote.remoteTaskId };
    const signal = AbortSignal.timeout(CANCEL_MS);
    this.#connection.call("cancelTask", request, { signal }).catch(() => undefined);
  }
}

function isQuestion(event: PublicEvent): event is StatusUpdateEvent {
  return event.kind === "status-update" && isInterrupted(event.status.state);
}

/** That a task was submitted is known here by the local one. */
function isWorthTelling(event: PublicEvent): boolean {
  if (event.kind !== "status-update") return true;
  return event.status.state !== "submitted" && event.status.state !== "unknown";
}

function isInvalid(error: unknown): boolean {
  return error instanceof RemoteError && error.code === ERRORS.InvalidParams.code;
}

/** What the remote agent says is for the caller; other errors may hold what is not. */
function inOwnWords(error: RemoteError): A2AError {
  const text = `the remote agent answered with an error: ${error.message}`;
  return new A2AError("InvalidAgentResponse", text, { cause: error });
}

/** The task that the remote agent made for a local one. */
interface RemoteTaskNote extends InternalEvent {
  readonly kind: "internal:remote-task";
  readonly remoteTaskId: string;
  readonly remoteContextId: string;
  /** The id of its first event, where the remote agent keeps its events. */
  readonly cursor?: string;
}

/** What an earlier attempt of a turn has done, so that nothing of it is done twice. */
class BridgeJournal {
  remote: RemoteTaskNote | undefined;
  /** How many questions of the remote agent were passed on. */
  asked = 0;
  /** The caller's last answer, if the remote agent is not known to have it. */
  undelivered: Message | undefined;
  /** Whether the last question has no answer yet. */
  isWaiting = false;

  constructor(events: readonly InternalEvent[]) {
    for (const event of events) this.#add(event);
  }

  /** Everything that an earlier attempt left open is done. */
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
    } else if (event.kind === NOTES.expired) this.isWaiting = false;
  }
}

/**
 * The context at the remote agent for a context of a caller here: one for one,
 * and the same after a restart. It is derived, and from the caller too, because
 * to the remote agent all callers are one: whoever names somebody else's
 * context here must not find it there.
 */
export async function remoteContextId(owner: string, contextId: string): Promise<string> {
  const name = new TextEncoder().encode(JSON.stringify(["convoke bridge", owner, contextId]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
  const hex = Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0"));
  // Version 8 of RFC 9562: an id of one's own making.
  hex[6] = `8${hex[6]![1]}`;
  hex[8] = `a${hex[8]![1]}`;
  const text = hex.join("");
  return [8, 12, 16, 20, 32]
    .map((end, place, ends) => text.slice(place === 0 ? 0 : ends[place - 1], end))
    .join("-");
}
