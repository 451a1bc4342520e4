import {
  A2AError,
  type AgentEvent,
  ENGINE_EVENTS,
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
import type { Run } from "../run/run.ts";
import { eventsBetween } from "../run/snapshot-events.ts";
import { RemoteTask, type RemoteTasks, remoteContextId } from "./remote-task.ts";

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
  readonly #turn: Turn;
  readonly #journal: BridgeJournal;
  readonly #remote: RemoteTask;
  /** Whether the ids of the remote task are in the journal. */
  #isNoted: boolean;
  /** The remote task, as far as this attempt has forwarded it. */
  #forwardedTask: Task | undefined;
  #questions = 0;

  constructor(agent: RemoteTasks, turn: Turn) {
    this.#turn = turn;
    this.#journal = new BridgeJournal(turn.journal);
    const { signal, trace } = turn;
    const { remote } = this.#journal;
    const ids = remote && { taskId: remote.remoteTaskId, contextId: remote.remoteContextId };
    this.#remote = new RemoteTask(agent, { ids, signal, follow: { trace } });
    this.#isNoted = ids !== undefined;
  }

  async *read(): AsyncGenerator<Batch, void, undefined> {
    const { signal } = this.#turn;
    try {
      let isWaiting = yield* await this.#begin();
      while (isWaiting) {
        const { undelivered } = this.#journal;
        const answer = undelivered ?? (await this.#turn.park());
        if (answer === undefined) throw new Error("no answer for the remote agent arrived in time");
        this.#journal.settle();
        const message = this.#toRemoteMessage(answer);
        const run = await this.#remote.answer(message, undelivered !== undefined);
        isWaiting = yield* this.#forward(run, answer);
      }
    } catch (error) {
      throw error instanceof RemoteError ? toAgentError(error) : error;
    } finally {
      if (signal.aborted && !ServerStopping.is(signal.reason)) this.#cancelRemote();
    }
  }

  /** Creates the remote task, or finds it again. */
  async #begin(): Promise<AsyncGenerator<Batch, boolean, undefined>> {
    const { remote } = this.#journal;
    if (remote !== undefined) return this.#forward(this.#remote.attach(remote.cursor));
    const { attempt, caller, task, message } = this.#turn;
    const contextId = await remoteContextId(caller.owner, task.contextId);
    const first = { ...this.#toRemoteMessage(message), contextId };
    return this.#remote.open(first, attempt > 1, (run) => this.#forward(run));
  }

  /** Forwards events; returns whether the remote agent then waits for the caller. */
  async *#forward(run: Run, answer?: Message): AsyncGenerator<Batch, boolean, undefined> {
    let isDelivered = answer === undefined;
    for await (const event of run) {
      if (event.kind === "message") {
        yield this.#withLocalIds(event);
        return false;
      }
      const changes = this.#changes(event);
      if (!this.#isNoted) yield this.#noteRemote(changes, run.lastEventId);
      if (!isDelivered) yield this.#note(REMOTE_ANSWER, { messageId: answer?.messageId });
      isDelivered = true;
      for (const change of changes) {
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

  #noteRemote(firstChanges: readonly PublicEvent[], cursor: string | undefined): Batch {
    const { taskId: remoteTaskId, contextId } = this.#remote.ids!;
    this.#isNoted = true;
    // If a crash comes before the first event is stored, the next attempt must read it again.
    const isPastFirst = cursor !== undefined && firstChanges.every(saysNothing);
    return this.#note("internal:remote-task", {
      remoteTaskId,
      remoteContextId: contextId,
      ...(isPastFirst && { cursor }),
    });
  }

  #note(kind: InternalEvent["kind"], facts: object): InternalEvent {
    return { kind, taskId: this.#turn.task.id, ...facts } as InternalEvent;
  }

  /** Not awaited: the local task has already ended. */
  #cancelRemote(): void {
    const state = this.#forwardedTask?.status.state;
    if (state !== undefined && isTerminal(state)) return;
    this.#remote.cancel(AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
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

/** Whether nothing is lost without the event: the server announces by itself that a task works. */
function saysNothing(event: PublicEvent): boolean {
  if (!isWorthForwarding(event)) return true;
  if (event.kind !== "status-update") return false;
  return event.status.state === "working" && event.status.message === undefined;
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
  /** The id of its first event, if the remote agent sends ids and the event has nothing to forward. */
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
