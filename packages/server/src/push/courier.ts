import { type PublicEvent, type Task, isInterrupted, isTerminal } from "@convoke/protocol";
import type { Egress } from "@convoke/client/egress";
import type { Seq } from "../tasks/backend.ts";
import type { Engine } from "../tasks/engine.ts";
import { type Folded, foldMore, loadTask } from "../tasks/load-task.ts";
import type { LogEntry } from "../tasks/log-entry.ts";
import { readLog } from "../tasks/read-log.ts";
import { attemptDelivery } from "./attempt-delivery.ts";
import { deliveryIdOf } from "./delivery-id.ts";
import type { Endpoint, Outcome } from "./endpoint.ts";
import { notificationOf } from "./notification.ts";
import type { PushProgress, PushRecord } from "./push-store.ts";
import { type StoredTarget, readTarget } from "./stored-target.ts";
import { worthTelling } from "./worth-telling.ts";

const PAGE = 256;

export interface CourierOptions {
  readonly engine: Engine;
  readonly egress: Egress;
  readonly endpoint: Endpoint;
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
  #folded: Folded | undefined;
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
    if (!this.#isWalking) this.#folded = undefined;
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
    while (this.#hasMore && !this.#stopped.signal.aborted) {
      this.#hasMore = false;
      const entries = await this.#read();
      for (const entry of entries) {
        if (!(await this.#tell(entry))) return;
      }
      if (entries.length > 0) this.#hasMore = true;
    }
    await this.#rest();
  }

  #read(): Promise<readonly LogEntry[]> {
    const { engine, record } = this.#options;
    return readLog(engine, record.taskId, { after: this.#position, limit: PAGE });
  }

  /** Whether to go on with the next one. */
  async #tell(entry: LogEntry): Promise<boolean> {
    const folded = await this.#foldThrough(entry);
    const event = worthTelling(entry.event, folded.task, this.#options.chunks);
    if (event !== undefined && !(await this.#deliver(event, folded.task, entry.seq))) return false;
    this.#folded = folded;
    this.#position = entry.seq;
    return true;
  }

  /** The task as it was after the entry. */
  async #foldThrough(entry: LogEntry): Promise<Folded> {
    if (this.#folded !== undefined || this.#position === 0) {
      return foldMore(this.#folded, [entry]);
    }
    const { engine, record } = this.#options;
    const stored = await engine.backend.tasks.get(record.taskId);
    if (stored === undefined) throw new Error(`task ${record.taskId} is not in the store any more`);
    // Of a compacted log only the end is left, and that is the entry.
    if (stored.compacted) return loadTask(engine.backend, stored);
    return foldMore(await loadTask(engine.backend, stored, this.#position), [entry]);
  }

  /** Tries until the receiver has it, wants nothing any more, or it is too old. */
  async #deliver(event: PublicEvent, task: Task, seq: Seq): Promise<boolean> {
    const { endpoint } = this.#options;
    for (;;) {
      const { signal } = this.#stopped;
      const outcome = await endpoint.deliver(() => this.#attempt(event, task, seq), signal);
      if (outcome === undefined || signal.aborted) return false;
      if (outcome.kind === "delivered") return this.#delivered(event, seq);
      if (!(await this.#failed(outcome))) return false;
    }
  }

  #attempt(event: PublicEvent, task: Task, seq: Seq): Promise<Outcome> {
    const { egress, engine, record, secret, timeoutMs } = this.#options;
    const notification = notificationOf({
      target: this.#target,
      event,
      task,
      deliveryId: deliveryIdOf(record, seq),
      now: engine.now(),
      secret,
    });
    return attemptDelivery({
      egress,
      url: this.#target.url,
      notification,
      signal: this.#stopped.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }

  async #delivered(event: PublicEvent, seq: Seq): Promise<boolean> {
    this.#failingSince = undefined;
    const state = isLast(event) ? "done" : "active";
    const isKept = await this.#note({ cursor: seq, state, failure: null });
    if (!isKept || state === "done") this.stop();
    return isKept && state === "active";
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

/** Whether nothing follows in the log. */
function isLast(event: PublicEvent): boolean {
  if (event.kind === "message") return true;
  return event.kind === "status-update" && isTerminal(event.status.state);
}
