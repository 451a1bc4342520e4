import { type PublicEvent, isInterrupted, isTerminal } from "@convoke/protocol";
import type { Egress } from "@convoke/egress";
import type { Seq } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import { type Folded, foldMore, loadTask } from "../log/load-task.ts";
import { type LogEntry, readEntry } from "../log/log-entry.ts";
import { attemptDelivery } from "./attempt-delivery.ts";
import { deliveryIdOf } from "./delivery-id.ts";
import type { DeliveryMemory } from "./delivery-memory.ts";
import type { Endpoint, Outcome } from "./endpoint.ts";
import { notificationOf } from "./notification.ts";
import type { PushProgress, PushRecord } from "../log/push-store.ts";
import { type StoredTarget, readTarget } from "./stored-target.ts";
import { isWorthTelling, worthTelling } from "./worth-telling.ts";

const PAGE = 256;

/** What a courier may keep in memory while it waits for its receiver, in characters. */
const LIGHT = 64 * 1024;

export interface CourierOptions {
  readonly engine: Engine;
  readonly egress: Egress;
  readonly endpoint: Endpoint;
  readonly memory: DeliveryMemory;
  readonly record: PushRecord;
  readonly secret: string | undefined;
  readonly chunks: boolean;
  readonly timeoutMs?: number;
  /** What could not be delivered for so long is given up. */
  readonly maxAgeMs: number;
  /** The task waits for an answer, and all there is was told. */
  readonly onRest: (courier: Courier) => void;
  readonly onStop: (courier: Courier) => void;
  readonly onDead: (record: PushRecord, problem: string) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Delivers what one config asks for: a reader of the log whose cursor moves
 * when the receiver has said yes (G12). One notification after the other, so
 * their order is the log's.
 */
export class Courier {
  readonly #options: CourierOptions;
  readonly #target: StoredTarget;
  readonly #stopped = new AbortController();
  /** How far the log was looked at; behind it is nothing that is still to be told. */
  #position: Seq;
  /** The task at that position; read again when it is needed and not here. */
  #folded: Folded | undefined;
  /** What follows that position in the log, last first, as far as it was read. */
  #ahead: LogEntry[] = [];
  /** What the receiver has said yes to and is not noted down yet. */
  #sent: Sent | undefined;
  #failingSince: number | undefined;
  #isWoken = false;
  #isWalking = false;
  #hasMore = false;
  #stopWatching: () => void = () => undefined;

  constructor(options: CourierOptions) {
    this.#options = options;
    this.#target = readTarget(options.record.config);
    this.#position = options.record.cursor;
    this.#failingSince = options.record.failingSince;
  }

  start(): void {
    const { engine, record } = this.#options;
    // Watching begins before the first look, so a commit in between is seen.
    this.#stopWatching = engine.backend.watch(record.taskId, () => this.#wake());
    this.#walk();
  }

  /** Who wrote learns of the commit after this: a turn later its memory has what was committed. */
  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    setImmediate(() => {
      this.#isWoken = false;
      this.#walk();
    });
  }

  /** Nothing is delivered any more, and what is under way is cut off. */
  stop(): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopWatching();
    this.#stopped.abort();
    this.#options.onStop(this);
  }

  /** Keeps nothing of the task in memory, unless it is telling of it just now. */
  forget(): void {
    if (!this.#isWalking) this.#drop();
  }

  /** About how much of the task it keeps in memory, in characters. */
  get size(): number {
    return this.#ahead.reduce((size, { json }) => size + json.length, this.#folded?.size ?? 0);
  }

  #drop(): void {
    this.#folded = undefined;
    this.#ahead = [];
  }

  #walk(): void {
    this.#hasMore = true;
    if (this.#isWalking) return;
    this.#isWalking = true;
    void this.#options.engine
      .keepTrying(this.#options.record, () => this.#walkOn())
      .catch(this.#options.onError)
      .finally(() => {
        this.#isWalking = false;
        if (this.#hasMore && !this.#stopped.signal.aborted) this.#walk();
      });
  }

  async #walkOn(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#hasMore = false;
      if (await this.#findNext()) {
        if (!(await this.#deliver())) return;
      } else if (!this.#hasMore) break;
    }
    await this.#rest();
  }

  /** Moves on to what is worth telling. False when there is nothing yet. */
  async #findNext(): Promise<boolean> {
    for (;;) {
      const entry = await this.#next();
      if (entry === undefined) return false;
      if (isWorthTelling(entry.event, this.#options.chunks)) return true;
      const isKnown = this.#folded !== undefined || this.#position === 0;
      this.#moveTo(entry.seq, isKnown ? foldMore(this.#folded, [entry]) : undefined);
    }
  }

  async #next(): Promise<LogEntry | undefined> {
    if (this.#ahead.length === 0) {
      const { engine, record } = this.#options;
      const page = await readLog(engine, record.taskId, { after: this.#position, limit: PAGE });
      this.#ahead = page.toReversed();
    }
    return this.#ahead.at(-1);
  }

  #moveTo(seq: Seq, folded: Folded | undefined): void {
    this.#folded = folded;
    this.#position = seq;
    this.#ahead.pop();
  }

  /** The task as it was after the entry. */
  #foldThrough(entry: LogEntry): Promise<Folded> {
    const { engine, memory, record } = this.#options;
    if (this.#folded !== undefined || this.#position === 0) {
      return Promise.resolve(memory.hold(foldMore(this.#folded, [entry])));
    }
    return memory.load(async () => {
      const stored = await engine.backend.tasks.get(record.taskId);
      if (stored === undefined)
        throw new Error(`task ${record.taskId} is not in the store any more`);
      // Of a compacted log only the end is left, and that is the entry.
      if (stored.compacted) return loadTask(engine.backend, stored);
      return foldMore(await loadTask(engine.backend, stored, this.#position), [entry]);
    });
  }

  /** Tries until the receiver has it, wants nothing any more, or it is too old. */
  async #deliver(): Promise<boolean> {
    const { endpoint } = this.#options;
    const { signal } = this.#stopped;
    for (;;) {
      // A receiver may fail for a day, and many tasks may wait for it.
      if (!endpoint.isReady && this.size > LIGHT) this.#drop();
      const outcome = await endpoint.deliver(() => this.#attempt(), signal);
      const sent = this.#sent;
      this.#sent = undefined;
      if (outcome === undefined || signal.aborted) return false;
      if (outcome.kind !== "delivered") {
        if (!(await this.#failed(outcome))) return false;
      } else if (sent !== undefined) return this.#delivered(sent);
    }
  }

  /** Sends what is next. What was dropped while it waited is read again. */
  async #attempt(): Promise<Outcome> {
    const { memory, onError } = this.#options;
    try {
      const entry = await this.#next();
      if (entry === undefined) throw new Error("the log has become shorter");
      const folded = await this.#foldThrough(entry);
      try {
        return await this.#post(entry, folded);
      } finally {
        memory.release(folded);
      }
    } catch (error) {
      onError(error);
      return { kind: "failed", problem: "the task could not be read" };
    }
  }

  async #post(entry: LogEntry, folded: Folded): Promise<Outcome> {
    const { chunks, egress, engine, record, secret, timeoutMs } = this.#options;
    const event = worthTelling(entry.event, folded.task, chunks);
    if (event === undefined) throw new Error(`event ${entry.seq} is not to be told`);
    const notification = notificationOf({
      target: this.#target,
      event,
      task: folded.task,
      deliveryId: deliveryIdOf(record, entry.seq),
      now: engine.now(),
      secret,
    });
    const outcome = await attemptDelivery({
      egress,
      url: this.#target.url,
      notification,
      signal: this.#stopped.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    if (outcome.kind === "delivered") {
      this.#sent = { seq: entry.seq, isLast: isLast(event), folded };
    }
    return outcome;
  }

  async #delivered({ seq, isLast: isOver, folded }: Sent): Promise<boolean> {
    this.#failingSince = undefined;
    const state = isOver ? "done" : "active";
    const isKept = await this.#note({ cursor: seq, state, failure: null });
    if (!isKept || isOver) this.stop();
    else this.#moveTo(seq, folded);
    return isKept && !isOver;
  }

  /** Whether to try again. */
  async #failed({ kind, problem }: Exclude<Outcome, { kind: "delivered" }>): Promise<boolean> {
    const { engine, maxAgeMs, record, onDead } = this.#options;
    const isFirst = this.#failingSince === undefined;
    const since = (this.#failingSince ??= engine.now());
    const isDead = kind === "gone" || engine.now() - since >= maxAgeMs;
    if (!isFirst && !isDead) return true;
    const failure = { since, problem };
    const state = isDead ? "dead" : "active";
    const isKept = await this.#note({ cursor: this.#position, state, failure });
    if (isKept && !isDead) return true;
    this.stop();
    if (isKept) onDead(record, problem);
    return false;
  }

  /** When all there is was told: whether more can come. */
  async #rest(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const { engine, record } = this.#options;
    const state = this.#folded?.task.status.state;
    if (state !== undefined && isInterrupted(state)) this.#options.onRest(this);
    if (state !== undefined && !isTerminal(state)) return;
    const stored = await engine.backend.tasks.get(record.taskId);
    const isOver =
      stored === undefined || (isTerminal(stored.state) && stored.head <= this.#position);
    if (!isOver) return;
    await this.#note({ cursor: this.#position, state: "done", failure: null });
    this.stop();
  }

  #note(progress: Pick<PushProgress, "cursor" | "state" | "failure">): Promise<boolean> {
    const { engine, record } = this.#options;
    const { taskId, id, generation } = record;
    return engine.backend.pushes.progress({ taskId, id, generation, ...progress });
  }
}

/** A notification that has arrived. */
interface Sent {
  readonly seq: Seq;
  readonly isLast: boolean;
  /** The task after it. */
  readonly folded: Folded;
}

/** Whether nothing follows in the log. */
function isLast(event: PublicEvent): boolean {
  if (event.kind === "message") return true;
  return event.kind === "status-update" && isTerminal(event.status.state);
}

/**
 * What follows in a log: from the memory of who writes it as long as it is
 * there, else from the store. That memory is a turn of the event loop behind
 * the commit, so whoever was woken by one waits for that turn.
 */
async function readLog(
  engine: Engine,
  taskId: string,
  { after, limit }: { readonly after: Seq; readonly limit: number },
): Promise<readonly LogEntry[]> {
  const remembered = engine.tasks.get(taskId)?.writer.tail.after(after, limit);
  if (remembered !== undefined) return remembered;
  return (await engine.backend.read(taskId, after, limit)).map(readEntry);
}
