import {
  type Connection,
  type Message,
  type PublicEvent,
  type StreamItem,
  type Task,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import {
  type RunRequest,
  type RunStep,
  type StreamedEvent,
  type TaskEventSource,
  TaskSnapshot,
} from "./task-events.ts";
import { EarlyCloseError, otherTaskError, outOfOrderError } from "./failures.ts";
import { isHeaderValue } from "../auth/headers.ts";
import { refusesStreams } from "../cards/card.ts";
import { withContext } from "../connection/interceptor.ts";
import type { FollowSettings } from "./follow-options.ts";
import { readStream } from "./idle-timeout.ts";
import { Recovery } from "./recovery.ts";
import { sleep } from "@convoke/protocol/internal";
import { eventsBetween, isSameTask } from "./snapshot-events.ts";

/** A request that sends a message. */
type Sending = Exclude<RunRequest, { kind: "subscribe" }>;

/** Why a step failed. */
interface Failure {
  readonly error: unknown;
}

type Steps = AsyncGenerator<StreamedEvent, RunStep | undefined, undefined>;

/**
 * The events of an answer or a task, across lost connections. After a loss it resumes from the cursor
 * if the agent keeps its events, from a snapshot of the task if it does not, and polls if the agent
 * does not stream. A message is resent only if that is harmless.
 */
export class ResumingSource implements TaskEventSource {
  readonly snapshot: TaskSnapshot;
  readonly #connection: Connection;
  readonly #request: RunRequest;
  readonly #settings: FollowSettings;
  readonly #cursor: EventCursor;
  readonly #recovery: Recovery;
  /** Whether the agent has taken the message; until then, a pending question is the one being answered. */
  #hasMoved: boolean;
  /** Whether events may be missing or repeated, so that the result is compared with the task at the end. */
  #isUncertain = false;
  /** The items that arrived together with the event yielded last. */
  #buffered: ItemBuffer | undefined;

  constructor(given: Connection, wanted: RunRequest, settings: FollowSettings) {
    const connection = withContext(given, settings.context);
    this.#connection = connection;
    this.#request = wanted;
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

  read(signal: AbortSignal): AsyncGenerator<StreamedEvent, void, undefined> {
    return this.#readFrom(this.#firstStep(), signal);
  }

  /**
   * Reads to the end, without events and so without a generator: most messages are answered by the
   * first response.
   */
  async complete(signal: AbortSignal | undefined): Promise<void> {
    let step = this.#firstStep();
    let failure: Failure | undefined;
    if (this.#request.kind === "call") {
      try {
        this.#accept({ event: await this.#send(this.#request, signal), id: "" });
        step = this.#stepAfterCall(this.#request);
      } catch (error) {
        signal?.throwIfAborted();
        failure = { error };
      }
    }
    if (step === "over") return;
    const rest = this.#readFrom(step, signal, failure);
    while ((await rest.next()).done !== true);
  }

  async *#readFrom(
    first: RunStep,
    signal: AbortSignal | undefined,
    failure?: Failure,
  ): AsyncGenerator<StreamedEvent, void, undefined> {
    let failed = failure;
    for (let step = first; step !== "over";) {
      try {
        if (failed === undefined) {
          const next = yield* this.#runStep(step, signal);
          if (next !== undefined) {
            step = next;
            continue;
          }
          const { url } = this.#connection.selectedInterface;
          failed = { error: new EarlyCloseError(url, this.snapshot.taskId) };
        }
      } catch (error) {
        signal?.throwIfAborted();
        failed = { error };
      }
      const { next, task } = await this.#recovery.after(step, failed.error, signal);
      if (task !== undefined) yield* this.#reconcile(task);
      step = next;
      failed = undefined;
    }
    if (this.#isUncertain) yield* this.#reconcile(await this.#recovery.task(signal));
  }

  takeBuffered(): StreamedEvent | undefined {
    const item = this.#buffered?.peek;
    if (item?.kind !== "event" || item.event.kind !== "artifact-update") return undefined;
    if (item.event.taskId !== this.snapshot.taskId) return undefined;
    if (this.#cursor.classify(item.id, item.event) !== "new") return undefined;
    this.#buffered?.next();
    return this.#accept(item);
  }

  #firstStep(): RunStep {
    if (this.#request.kind === "call") return "call";
    if (this.#request.kind === "subscribe") return "subscribe";
    return refusesStreams(this.#connection.card) ? "call" : "send";
  }

  /** Runs one step and returns the next, or `undefined` if the stream was closed too early. */
  #runStep(step: RunStep, signal: AbortSignal | undefined): Steps {
    if (step === "call") return this.#call(signal);
    if (step === "poll") return this.#poll(signal);
    return this.#stream(signal, step === "send");
  }

  async *#stream(signal: AbortSignal | undefined, isSend: boolean): Steps {
    const isResubscribe = !isSend && (this.#recovery.isLost || this.snapshot.answer !== undefined);
    const cursor = this.lastEventId;
    let isFirst = true;
    const batches = readStream({
      open: (own) => this.#open(own, isSend),
      signal,
      idleTimeoutMs: this.#settings.idleTimeoutMs,
      hasMoved: (own) => this.#recovery.hasProgressed(own),
    });
    for await (const batch of batches) {
      const buffer = new ItemBuffer(batch);
      for (let item = buffer.next(); item !== undefined; item = buffer.next()) {
        if (item.kind === "alive") continue;
        const { event, id } = item;
        this.#rejectOtherTask(event);
        const isJoining = isFirst && (isResubscribe || cursor !== undefined);
        const isSnapshot = isJoining && (isResubscribe || this.#cursor.isBefore(id));
        if (event.kind === "task" && (isReset(event) || isSnapshot)) {
          yield* this.#startOver(event, id);
        } else {
          if (isJoining) yield* this.#joinAt(cursor, id, signal);
          isFirst = false;
          if (!this.#isNew(event, id)) continue;
          const accepted = this.#accept(item);
          // Only here may `takeBuffered` continue with the items that are left. After the last
          // event the rest does not belong to this run.
          if (!this.#isLast(event)) this.#buffered = buffer;
          yield accepted;
          this.#buffered = undefined;
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
    if (isSend && this.#request.kind !== "subscribe") {
      return this.#connection.stream("sendStreamingMessage", this.#request.request, { signal });
    }
    const { lastEventId } = this;
    const request = { taskId: this.snapshot.taskId ?? "" };
    return this.#connection.stream("subscribeToTask", request, { signal, lastEventId });
  }

  /** The stream starts with the whole task, because there was no usable cursor. */
  async *#startOver(task: Task, id: string): AsyncGenerator<StreamedEvent, void, undefined> {
    this.#cursor.forget();
    this.#cursor.moveTo(id, task);
    // The agent had time since the connection was lost: a question in the snapshot may be a new one.
    this.#hasMoved ||= this.#recovery.isLost && this.#recovery.hasMoved(task);
    yield* this.#reconcile(withoutResetMark(task), id);
  }

  /** The stream starts with an event instead of the task: check that it continues after the cursor. */
  async *#joinAt(
    cursor: string | undefined,
    id: string,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StreamedEvent, void, undefined> {
    if (cursor !== undefined && !this.#cursor.isBefore(id)) {
      if (!this.#recovery.isLost) return;
      const message = `the stream of task ${this.snapshot.taskId} continues after event ${cursor}`;
      return this.#settings.onNotice({ kind: "resumed", message, lastEventId: cursor });
    }
    // The ids are no cursors, or there are none: the task contains what was missed.
    this.#cursor.forget();
    this.#isUncertain = true;
    yield* this.#reconcile(await this.#recovery.task(signal));
  }

  #isNew(event: PublicEvent, id: string): boolean {
    const verdict = this.#cursor.classify(id, event);
    if (verdict !== "late") return verdict === "new";
    this.#cursor.forget();
    throw outOfOrderError(this.#connection.selectedInterface.url, id);
  }

  #accept(accepted: StreamedEvent): StreamedEvent {
    const { event, id } = accepted;
    if (event.kind !== "task" || !isInterrupted(event.status.state)) this.#hasMoved = true;
    this.snapshot.add(event);
    this.#cursor.moveTo(id, event);
    this.#recovery.progressed();
    return accepted;
  }

  /** Yields the whole task if it differs from the snapshot. */
  async *#reconcile(task: Task, id = ""): AsyncGenerator<StreamedEvent, void, undefined> {
    const known = this.snapshot.task;
    if (known !== undefined && !this.snapshot.isPartial && isSameTask(known, task)) return;
    const hadCursor = this.#request.kind === "subscribe" && this.#request.lastEventId !== undefined;
    if (known !== undefined || hadCursor) {
      const message = `the missed events of task ${task.id} came as the whole task, which replaces everything before`;
      this.#settings.onNotice({ kind: "resynced", message });
    }
    yield this.#accept({ event: task, id });
  }

  /**
   * Whether the run is complete with this event. An answer ends with a question, because it is the
   * caller's turn; a subscription continues.
   */
  #isLast(event: PublicEvent): boolean {
    if (event.kind === "message") return true;
    if (event.kind === "artifact-update") return false;
    const { state } = event.status;
    if (isTerminal(state)) return true;
    if (this.#request.kind === "subscribe" || !this.#hasMoved) return false;
    const isFinal = event.kind === "status-update" && event.final;
    return (
      state === "input-required" ||
      (isFinal && this.#connection.selectedInterface.version === "0.3")
    );
  }

  async *#call(signal: AbortSignal | undefined): Steps {
    const wanted = this.#request;
    if (wanted.kind === "subscribe") return "subscribe";
    yield this.#accept({ event: await this.#send(wanted, signal), id: "" });
    return this.#stepAfterCall(wanted);
  }

  #send({ kind, request }: Sending, signal: AbortSignal | undefined): Promise<Task | Message> {
    // An agent whose stream is replaced by a call is polled.
    const sent = kind === "call" ? request : { ...request, blocking: false };
    return this.#connection.call("sendMessage", sent, { signal });
  }

  #stepAfterCall({ kind, request }: Sending): RunStep {
    this.#hasMoved = true;
    if (this.snapshot.isAtRest || (kind === "call" && !request.blocking)) return "over";
    if (kind === "stream") this.#recovery.noticePolling();
    return "poll";
  }

  async *#poll(signal: AbortSignal | undefined): Steps {
    const { first, most } = this.#settings.pollMs;
    for (let delay = first; !this.snapshot.isAtRest;) {
      await sleep(delay, signal);
      const request = { taskId: this.snapshot.taskId ?? "" };
      const task = await this.#connection.call("getTask", request, { signal });
      const events = eventsBetween(this.snapshot.isPartial ? undefined : this.snapshot.task, task);
      for (const event of events) yield this.#accept({ event, id: "" });
      delay = events.length > 0 ? first : Math.min(delay * 1.5, most);
      this.#recovery.progressed();
    }
    return "over";
  }

  #rejectOtherTask(event: PublicEvent): void {
    const { taskId } = this.snapshot;
    if (taskId === undefined || event.kind === "message") return;
    const named = event.kind === "task" ? event.id : event.taskId;
    if (named !== taskId)
      throw otherTaskError(this.#connection.selectedInterface.url, named, taskId);
  }
}

/** Items that arrived together. */
class ItemBuffer {
  readonly #items: readonly StreamItem[];
  #index = 0;

  constructor(items: readonly StreamItem[]) {
    this.#items = items;
  }

  /** The item that `next` would return. */
  get peek(): StreamItem | undefined {
    return this.#items[this.#index];
  }

  next(): StreamItem | undefined {
    return this.#items[this.#index++];
  }
}

/** Whether the agent says that it cannot resume, and that this task replaces what was read. */
function isReset({ metadata }: Task): boolean {
  return metadata?.["resumption"] === "reset";
}

/** The task without the reset mark, which is about the stream and not about the task. */
function withoutResetMark(task: Task): Task {
  if (!isReset(task)) return task;
  const { metadata: { resumption: _, ...others } = {}, ...rest } = task;
  return Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
}

/** How many event ids are remembered. */
const MAX_RECENT = 256;

/** Where an event stands relative to the cursor. */
type EventPosition =
  | "new"
  /** It was already read. */
  | "seen"
  /** It belongs before the cursor but was never read. */
  | "late";

/**
 * How far a stream was read. Ids that are decimal numbers increase along the log, so an event whose
 * id is not greater was already read.
 */
class EventCursor {
  #lastId: string | undefined;
  /** The last id as a number, if it is one. */
  #lastNumber: number | undefined;
  #lastEvent: PublicEvent | undefined;
  #recent: number[] = [];

  constructor(lastId?: string) {
    this.#lastId = lastId;
    this.#lastNumber = parseNumber(lastId ?? "");
  }

  /** The id to resume after the last event; `undefined` if the agent sends no ids. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  classify(id: string, event: PublicEvent): EventPosition {
    const last = this.#lastId;
    if (id === "" || last === undefined) return "new";
    // A server may number only some events: SSE then repeats the last id for the others.
    if (id === last) return this.#isLastEvent(event) ? "seen" : "new";
    const number = parseNumber(id);
    if (number === undefined || this.#lastNumber === undefined) return "new";
    if (number > this.#lastNumber) return "new";
    const oldest = this.#recent[0];
    if (oldest === undefined || number < oldest) return "seen";
    return this.#recent.includes(number) ? "seen" : "late";
  }

  /** Whether the id is before the cursor. */
  isBefore(id: string): boolean {
    const number = parseNumber(id);
    return number !== undefined && this.#lastNumber !== undefined && number < this.#lastNumber;
  }

  moveTo(id: string, event: PublicEvent): void {
    if (id === "") return;
    const number = parseNumber(id);
    // An id that cannot be sent in a header is no cursor, and an older one would repeat events.
    if (number === undefined && !isHeaderValue(id)) return this.forget();
    this.#lastId = id;
    this.#lastEvent = event;
    this.#lastNumber = number;
    if (number === undefined) return;
    this.#recent.push(number);
    if (this.#recent.length > MAX_RECENT) this.#recent = this.#recent.slice(MAX_RECENT / 2);
  }

  /** Resets the cursor: the following events belong to another log. */
  forget(): void {
    this.#lastId = undefined;
    this.#lastNumber = undefined;
    this.#lastEvent = undefined;
    this.#recent = [];
  }

  #isLastEvent(event: PublicEvent): boolean {
    // A reader that starts with a stored cursor has already read the event of that id.
    return (
      this.#lastEvent === undefined || JSON.stringify(this.#lastEvent) === JSON.stringify(event)
    );
  }
}

/**
 * Parses a decimal number that a double holds exactly; stricter than `Number`. Digit by digit, because
 * it runs twice for every event.
 */
function parseNumber(id: string): number | undefined {
  if (id === "" || id.length > 15) return undefined;
  let number = 0;
  for (let index = 0; index < id.length; index++) {
    const digit = id.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}
