import {
  type CallOptions,
  type Calls,
  type Connection,
  isInterrupted,
  isTerminal,
  type PublicEvent,
  type RawCard,
  type RequestContext,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
  type Task,
} from "@convoke/protocol";
import { EventCursor } from "./event-cursor.ts";
import {
  type TaskEventSource,
  type StreamedEvent,
  type RunStep,
  TaskSnapshot,
  type RunRequest,
} from "./task-events.ts";
import { EarlyCloseError, otherTaskError, outOfOrderError } from "./failures.ts";
import { refusesStreams } from "../cards/card.ts";
import { intercept, requestContext } from "../connection/interceptor.ts";
import type { FollowSettings } from "./follow-options.ts";
import { readStream } from "./idle-timeout.ts";
import { Recovery } from "./recovery.ts";
import { sleep } from "@convoke/protocol/internal";
import { eventsBetween, isSameTask } from "./snapshot-events.ts";

type Steps = AsyncGenerator<StreamedEvent, RunStep | undefined, undefined>;

/**
 * The events of an answer or a task, whatever happens to the connection. A loss
 * is made good by the cursor where the agent keeps its events, by a snapshot
 * where it does not, and by asking again and again where it does not stream. A
 * message is sent twice only where that is harmless.
 */
export class ResumingSource implements TaskEventSource {
  readonly snapshot: TaskSnapshot;
  readonly #connection: Connection;
  readonly #wanted: RunRequest;
  readonly #settings: FollowSettings;
  readonly #cursor: EventCursor;
  readonly #recovery: Recovery;
  /** Whether the agent took up the message; before that, a question is the one that is answered. */
  #hasMoved: boolean;
  /** Whether something may be missing or doubled, so that the end is compared with the task. */
  #isUncertain = false;
  /** What arrived with the event that was given last. */
  #takeable: Arrivals | undefined;

  constructor(given: Connection, wanted: RunRequest, settings: FollowSettings) {
    const connection = intercept(given, [requestContext(settings.context)]);
    this.#connection = connection;
    this.#wanted = wanted;
    this.#settings = settings;
    const { taskId, lastEventId } = wanted.kind === "subscribe" ? wanted : {};
    this.snapshot = new TaskSnapshot(taskId);
    this.#cursor = new EventCursor(lastEventId);
    this.#recovery = new Recovery({ connection, wanted, settings, fold: this.snapshot });
    this.#hasMoved = wanted.kind === "subscribe" || wanted.request.message.taskId === undefined;
  }

  get lastEventId(): string | undefined {
    return this.#cursor.lastId;
  }

  async *read(signal: AbortSignal): AsyncGenerator<StreamedEvent, void, undefined> {
    for (let step = this.#firstStep(); step !== "over";) {
      let error: unknown;
      try {
        const next = yield* this.#take(step, signal);
        if (next !== undefined) {
          step = next;
          continue;
        }
        error = new EarlyCloseError(this.#connection.speaking.url, this.snapshot.taskId);
      } catch (thrown) {
        signal.throwIfAborted();
        error = thrown;
      }
      const { next, task } = await this.#recovery.after(step, error, signal);
      if (task !== undefined) yield* this.#reconcile(task);
      step = next;
    }
    if (this.#isUncertain) yield* this.#reconcile(await this.#recovery.task(signal));
  }

  takeBuffered(): StreamedEvent | undefined {
    const item = this.#takeable?.first;
    if (item?.kind !== "event" || item.event.kind !== "artifact-update") return undefined;
    const { event, id } = item;
    if (event.taskId !== this.snapshot.taskId) return undefined;
    if (this.#cursor.classify(id, event) !== "new") return undefined;
    this.#takeable?.next();
    return this.#accept(event, id);
  }

  #firstStep(): RunStep {
    if (this.#wanted.kind === "call") return "call";
    if (this.#wanted.kind === "subscribe") return "subscribe";
    return refusesStreams(this.#connection.card) ? "call" : "send";
  }

  /** Does one step; gives the next, or nothing when the stream was closed too early. */
  #take(step: RunStep, signal: AbortSignal): Steps {
    if (step === "call") return this.#call(signal);
    if (step === "poll") return this.#poll(signal);
    return this.#stream(signal, step === "send");
  }

  async *#stream(signal: AbortSignal, isSend: boolean): Steps {
    const isAgain = !isSend && (this.#recovery.isLost || this.snapshot.answer !== undefined);
    const cursor = this.lastEventId;
    let isFirst = true;
    const batches = readStream({
      open: (own) => this.#open(own, isSend),
      signal,
      silenceMs: this.#settings.silenceMs,
      hasMoved: (own) => this.#recovery.hasGoneOn(own),
    });
    for await (const batch of batches) {
      const arrived = new Arrivals(batch);
      for (let item = arrived.next(); item !== undefined; item = arrived.next()) {
        if (item.kind === "alive") continue;
        const { event, id } = item;
        this.#refuseOtherTask(event);
        const isJoining = isFirst && (isAgain || cursor !== undefined);
        const isOff = isJoining && (isAgain || this.#cursor.isBefore(id));
        if (event.kind === "task" && (isReset(event) || isOff)) {
          yield* this.#beginAnew(event, id);
        } else {
          if (isJoining) yield* this.#joinUp(cursor, id, signal);
          isFirst = false;
          if (!this.#isNews(event, id)) continue;
          const accepted = this.#accept(event, id);
          // Only here nothing else is under way, so that others may go on with what is there;
          // after the last event nothing more belongs to it.
          if (!this.#isLast(event)) this.#takeable = arrived;
          yield accepted;
          this.#takeable = undefined;
        }
        isFirst = false;
        if (this.#isLast(event)) return "over";
      }
    }
    return this.snapshot.isAtRest ? "over" : undefined;
  }

  #open(
    signal: AbortSignal,
    isSend: boolean,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    if (isSend && this.#wanted.kind !== "subscribe") {
      return this.#connection.stream("sendStreamingMessage", this.#wanted.request, { signal });
    }
    const { lastEventId } = this;
    const request = { taskId: this.snapshot.taskId ?? "" };
    return this.#connection.stream("subscribeToTask", request, { signal, lastEventId });
  }

  /** The stream begins with the whole task, because the cursor led nowhere or there was none. */
  async *#beginAnew(task: Task, id: string): AsyncGenerator<StreamedEvent, void, undefined> {
    this.#cursor.forget();
    this.#cursor.moveTo(id, task);
    // Since the connection was lost the agent had time: a question that it shows now is a new one.
    this.#hasMoved ||= this.#recovery.isLost;
    yield* this.#reconcile(withoutResetMark(task), id);
  }

  /** A stream that goes on with something does not begin with the task: is it the right place? */
  async *#joinUp(
    cursor: string | undefined,
    id: string,
    signal: AbortSignal,
  ): AsyncGenerator<StreamedEvent, void, undefined> {
    if (cursor !== undefined && !this.#cursor.isBefore(id)) {
      if (!this.#recovery.isLost) return;
      const message = `the stream of task ${this.snapshot.taskId} goes on after event ${cursor}`;
      return this.#settings.onNotice({ kind: "resumed", message, lastEventId: cursor });
    }
    // The ids were no cursors, or there were none: what was missed is in the task.
    this.#cursor.forget();
    this.#isUncertain = true;
    yield* this.#reconcile(await this.#recovery.task(signal));
  }

  #isNews(event: PublicEvent, id: string): boolean {
    const verdict = this.#cursor.classify(id, event);
    if (verdict !== "late") return verdict === "new";
    this.#cursor.forget();
    throw outOfOrderError(this.#connection.speaking.url, id);
  }

  #accept(event: PublicEvent, id = ""): StreamedEvent {
    if (event.kind !== "task" || !isInterrupted(event.status.state)) this.#hasMoved = true;
    this.snapshot.add(event);
    this.#cursor.moveTo(id, event);
    this.#recovery.progressed();
    return { event, id };
  }

  /** Tells the whole task, where it is not what is known already. */
  async *#reconcile(task: Task, id = ""): AsyncGenerator<StreamedEvent, void, undefined> {
    const known = this.snapshot.task;
    if (known !== undefined && !this.snapshot.isPartial && isSameTask(known, task)) return;
    const hadCursor = this.#wanted.kind === "subscribe" && this.#wanted.lastEventId !== undefined;
    if (known !== undefined || hadCursor) {
      const message = `what was missed of task ${task.id} came as the whole task, which replaces what came before`;
      this.#settings.onNotice({ kind: "resynced", message });
    }
    yield this.#accept(task, id);
  }

  /**
   * Whether nothing more belongs to what was wanted. An answer ends with a
   * question, because the next word is the caller's; a subscription goes on.
   */
  #isLast(event: PublicEvent): boolean {
    if (event.kind === "message") return true;
    if (event.kind === "artifact-update") return false;
    const { state } = event.status;
    if (isTerminal(state)) return true;
    if (this.#wanted.kind === "subscribe" || !this.#hasMoved) return false;
    const isFinal = event.kind === "status-update" && event.final;
    return state === "input-required" || (isFinal && this.#connection.speaking.version === "0.3");
  }

  async *#call(signal: AbortSignal): Steps {
    if (this.#wanted.kind === "subscribe") return "subscribe";
    const { kind, request } = this.#wanted;
    const blocking = kind === "call" && request.blocking;
    const asked = { ...request, blocking };
    const answer = await this.#connection.call("sendMessage", asked, { signal });
    this.#hasMoved = true;
    yield this.#accept(answer);
    if (this.snapshot.isAtRest || (kind === "call" && !blocking)) return "over";
    if (kind === "stream") this.#recovery.noticePolling();
    return "poll";
  }

  async *#poll(signal: AbortSignal): Steps {
    const { first, most } = this.#settings.pollMs;
    for (let delay = first; !this.snapshot.isAtRest;) {
      await sleep(delay, signal);
      const request = { taskId: this.snapshot.taskId ?? "" };
      const task = await this.#connection.call("getTask", request, { signal });
      const events = eventsBetween(this.snapshot.isPartial ? undefined : this.snapshot.task, task);
      for (const event of events) yield this.#accept(event);
      delay = events.length > 0 ? first : Math.min(delay * 1.5, most);
      this.#recovery.progressed();
    }
    return "over";
  }

  #refuseOtherTask(event: PublicEvent): void {
    const { taskId } = this.snapshot;
    if (taskId === undefined || event.kind === "message") return;
    const named = event.kind === "task" ? event.id : event.taskId;
    if (named !== taskId) throw otherTaskError(this.#connection.speaking.url, named, taskId);
  }
}

/** What came over a stream together, to be looked at before it is taken. */
class Arrivals {
  readonly #items: readonly StreamItem[];
  #place = 0;

  constructor(items: readonly StreamItem[]) {
    this.#items = items;
  }

  /** What `next` would take. */
  get first(): StreamItem | undefined {
    return this.#items[this.#place];
  }

  next(): StreamItem | undefined {
    return this.#items[this.#place++];
  }
}

/** Whether an agent says that the cursor leads nowhere, and this task replaces what was read. */
function isReset({ metadata }: Task): boolean {
  return metadata?.["resumption"] === "reset";
}

/** The task without the mark, which is about the stream and not about the task. */
function withoutResetMark(task: Task): Task {
  if (!isReset(task)) return task;
  const { metadata: { resumption: _, ...others } = {}, ...rest } = task;
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
}
