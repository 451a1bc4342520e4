import { type PublicEvent, isInterrupted, isTerminal } from "@convoke/protocol";
import type { Egress } from "@convoke/egress";
import type { PushProgress, PushRecord, Seq } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import { type TaskSnapshot, applyEntries, loadTask } from "../log/task-snapshot.ts";
import { type LogEntry, type LogPlace, readEntries } from "../log/log-entry.ts";
import { type Endpoint, type Outcome, attemptDelivery } from "./endpoint.ts";
import { readTaskTrace } from "../log/turn-log.ts";
import { isTracing } from "../tracing/opentelemetry.ts";
import {
  type StoredTarget,
  createDeliveryId,
  createNotification,
  isDelivered,
  readTarget,
  toDeliveredEvent,
} from "./notification.ts";
import { type DeliveryAttempt, describeAttempt } from "./delivery-attempts.ts";
import type { DeliveryMemory } from "./delivery-memory.ts";

const PAGE = 256;

/** How much a worker may keep in memory while it waits for its endpoint, in characters. */
const MAX_SIZE_WAITING = 64 * 1024;

export interface DeliveryWorkerOptions {
  readonly engine: Engine;
  readonly egress: Egress;
  readonly endpoint: Endpoint;
  readonly memory: DeliveryMemory;
  readonly record: PushRecord;
  readonly secret: string | undefined;
  readonly chunks: boolean;
  readonly timeoutMs?: number;
  /** Give up after deliveries have failed for this long. */
  readonly maxAgeMs: number;
  /** Called when everything was delivered and the task waits for an answer. */
  readonly onIdle: (worker: DeliveryWorker) => void;
  /** Called after each attempt of this worker. */
  readonly onAttempt: (attempt: DeliveryAttempt) => void;
  readonly onStop: (worker: DeliveryWorker) => void;
  readonly onDead: (record: PushRecord, problem: string) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Delivers the events of one task for one push config. It reads the log, and its
 * cursor moves when the receiver has accepted a notification (G12: at least once,
 * in order). Notifications are sent one after the other, in the order of the log.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #target: StoredTarget;
  readonly #stopped = new AbortController();
  /** The last sequence that was handled: everything before it was delivered or skipped. */
  #position: Seq;
  /** The epoch of the event at that position, if it is known; see `StoredEvent.epoch`. */
  #epoch: number | undefined;
  /** The task at that position; loaded again on demand if it was dropped. */
  #snapshot: TaskSnapshot | undefined;
  /** The entries after that position that were read already, last first. */
  #ahead: LogEntry[] = [];
  /** The notification that was accepted and is not recorded yet. */
  #sent: Sent | undefined;
  #failingSince: number | undefined;
  #pendingSince: number | undefined;
  #isWoken = false;
  #isRunning = false;
  #hasMore = false;
  #stopWatching: () => void = () => undefined;

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    this.#target = readTarget(options.record.config);
    this.#position = options.record.cursor;
    this.#failingSince = options.record.failingSince;
  }

  start(): void {
    const { engine, record } = this.#options;
    // Watch before the first read, so that a commit in between is not missed.
    this.#stopWatching = engine.backend.watch(record.taskId, () => this.#wake());
    this.#run();
  }

  /** Runs in the next turn of the event loop: only then the memory of the writer has the committed events. */
  #wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    setImmediate(() => {
      this.#isWoken = false;
      this.#run();
    });
  }

  get record(): PushRecord {
    return this.#options.record;
  }

  /** Stops delivering, and aborts the current attempt. */
  stop(): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopWatching();
    this.#stopped.abort();
    this.#options.onStop(this);
  }

  /** Drops the task from memory, unless it is being delivered. */
  evict(): void {
    if (!this.#isRunning) this.#drop();
  }

  /** The approximate size of what it keeps in memory, in characters. */
  get size(): number {
    return this.#ahead.reduce((size, { json }) => size + json.length, this.#snapshot?.size ?? 0);
  }

  /** Since when its next notification has been waiting, in milliseconds since the epoch; `undefined` if there is none. */
  get pendingSince(): number | undefined {
    return this.#failingSince ?? this.#pendingSince;
  }

  #drop(): void {
    this.#snapshot = undefined;
    this.#ahead = [];
  }

  #run(): void {
    this.#hasMore = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#options.engine
      .keepTrying(this.#options.record, () => this.#deliverAll())
      .catch(this.#options.onError)
      .finally(() => {
        this.#isRunning = false;
        if (this.#hasMore && !this.#stopped.signal.aborted) this.#run();
      });
  }

  async #deliverAll(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#hasMore = false;
      if (await this.#findNext()) {
        if (!(await this.#deliver())) return;
      } else if (!this.#hasMore) break;
    }
    await this.#idle();
  }

  /** Skips to the next event to deliver. False if there is none yet. */
  async #findNext(): Promise<boolean> {
    for (;;) {
      const entry = await this.#next();
      if (entry === undefined) return false;
      if (isDelivered(entry.event, this.#options.chunks)) return true;
      const isKnown = this.#snapshot !== undefined || this.#position === 0;
      this.#moveTo(entry, isKnown ? applyEntries(this.#snapshot, [entry]) : undefined);
    }
  }

  async #next(): Promise<LogEntry | undefined> {
    if (this.#ahead.length === 0) this.#ahead = (await this.#read()).toReversed();
    return this.#ahead.at(-1);
  }

  /** The next entries. If processes share the storage, the last one that was handled is read with them. */
  async #read(): Promise<readonly LogEntry[]> {
    const { engine, record } = this.#options;
    const after = this.#position;
    if (engine.backend.sharing === undefined || after === 0) {
      return readLog(engine, record.taskId, { after, limit: PAGE });
    }
    const page = await readLog(engine, record.taskId, { after: after - 1, limit: PAGE });
    const known = page[0];
    // A compacted log has gaps.
    if (known !== undefined && known.seq > after) return page;
    if (known === undefined || (this.#epoch ?? known.epoch) !== known.epoch)
      return this.#readAgain();
    this.#epoch = known.epoch;
    return page.slice(1);
  }

  /**
   * A failover of the database has lost events that were handled, and others may have their sequences.
   * Everything is delivered again: what is still in the log with the same delivery ids.
   */
  #readAgain(): Promise<readonly LogEntry[]> {
    const { engine, record } = this.#options;
    const { taskId } = record;
    engine.logger.warn("the log of a task is not what was delivered, delivering it again", {
      taskId,
    });
    this.#moveTo({ seq: 0, epoch: undefined }, undefined);
    return this.#read();
  }

  #moveTo({ seq, epoch }: LogPlace, snapshot: TaskSnapshot | undefined): void {
    this.#snapshot = snapshot;
    this.#position = seq;
    this.#epoch = epoch;
    this.#ahead.pop();
  }

  /** The task after the entry. */
  #snapshotAfter(entry: LogEntry): Promise<TaskSnapshot> {
    const { engine, memory, record } = this.#options;
    if (this.#snapshot !== undefined || this.#position === 0) {
      return Promise.resolve(memory.hold(applyEntries(this.#snapshot, [entry])));
    }
    return memory.load(async () => {
      const stored = await engine.backend.tasks.get(record.taskId);
      if (stored === undefined)
        throw new Error(`task ${record.taskId} is not in the store any more`);
      // After compaction only the state at the end is known. Nothing before the entry was undelivered.
      if (stored.compacted) return loadTask(engine.backend, stored);
      return applyEntries(await loadTask(engine.backend, stored, this.#position), [entry]);
    });
  }

  /** Retries until the receiver has accepted the event, has unsubscribed, or deliveries have failed for too long. */
  async #deliver(): Promise<boolean> {
    const { endpoint, engine } = this.#options;
    const { signal } = this.#stopped;
    this.#pendingSince = engine.now();
    for (;;) {
      // A receiver may fail for a day while many tasks wait for it.
      if (!endpoint.isReady && this.size > MAX_SIZE_WAITING) this.#drop();
      const outcome = await endpoint.deliver(() => this.#attempt(), signal);
      const sent = this.#sent;
      this.#sent = undefined;
      if (outcome === undefined || signal.aborted) return false;
      if (outcome.kind !== "delivered") {
        if (!(await this.#recordFailed(outcome))) return false;
      } else if (sent !== undefined) return this.#recordDelivered(sent);
    }
  }

  /** Sends the next event. Loads what was dropped while it waited. */
  async #attempt(): Promise<Outcome> {
    const { memory, onError } = this.#options;
    try {
      const entry = await this.#next();
      if (entry === undefined) throw new Error("the log has become shorter");
      const snapshot = await this.#snapshotAfter(entry);
      try {
        return await this.#post(entry, snapshot);
      } finally {
        memory.release(snapshot);
      }
    } catch (error) {
      onError(error);
      return { kind: "failed", problem: "the task could not be read" };
    }
  }

  async #post(entry: LogEntry, snapshot: TaskSnapshot): Promise<Outcome> {
    const { chunks, egress, engine, record, secret, timeoutMs } = this.#options;
    const event = toDeliveredEvent(entry.event, snapshot.task, chunks);
    if (event === undefined) throw new Error(`event ${entry.seq} is not to be delivered`);
    const notification = createNotification({
      target: this.#target,
      event: await engine.files.show(event),
      task: this.#target.version === "0.3" ? await engine.files.show(snapshot.task) : snapshot.task,
      deliveryId: createDeliveryId(record, entry),
      now: engine.now(),
      secret,
    });
    const trace = isTracing() ? await readTaskTrace(engine.backend, record.taskId) : undefined;
    const at = Date.now();
    const outcome = await attemptDelivery({
      egress,
      url: this.#target.url,
      notification,
      eventKind: event.kind,
      trace,
      signal: this.#stopped.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    engine.metrics.count("pushDeliveries", [outcome.kind]);
    this.#options.onAttempt(describeAttempt(outcome, at, Date.now()));
    if (outcome.kind === "delivered") {
      // Its memory is released now, and recording may take long: the last event needs no task.
      const { seq, epoch } = entry;
      this.#sent = { seq, epoch, snapshot: isLast(event) ? undefined : snapshot };
    }
    return outcome;
  }

  async #recordDelivered({ seq, epoch, snapshot }: Sent): Promise<boolean> {
    this.#failingSince = undefined;
    this.#pendingSince = undefined;
    const isOver = snapshot === undefined;
    const state = isOver ? "done" : "active";
    const isKept = await this.#record({ cursor: seq, state, failure: null });
    if (!isKept || isOver) this.stop();
    else this.#moveTo({ seq, epoch }, snapshot);
    return isKept && !isOver;
  }

  /** Records a failure. Resolves to whether to try again. */
  async #recordFailed(outcome: Exclude<Outcome, { kind: "delivered" }>): Promise<boolean> {
    const { kind, problem } = outcome;
    const { engine, maxAgeMs, record, onDead } = this.#options;
    const isFirst = this.#failingSince === undefined;
    const since = (this.#failingSince ??= engine.now());
    const isDead = kind === "gone" || engine.now() - since >= maxAgeMs;
    if (!isFirst && !isDead) return true;
    const failure = { since, problem };
    const state = isDead ? "dead" : "active";
    const isKept = await this.#record({ cursor: this.#position, state, failure });
    if (isKept && !isDead) return true;
    this.stop();
    if (isKept) onDead(record, kind === "failed" ? (outcome.detail ?? problem) : problem);
    return false;
  }

  /** After everything was delivered: stops if the task has ended. */
  async #idle(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const { engine, record } = this.#options;
    const state = this.#snapshot?.task.status.state;
    if (state !== undefined && isInterrupted(state)) this.#options.onIdle(this);
    if (state !== undefined && !isTerminal(state)) return;
    const stored = await engine.backend.tasks.get(record.taskId);
    const isOver =
      stored === undefined || (isTerminal(stored.state) && stored.head <= this.#position);
    if (!isOver) return;
    await this.#record({ cursor: this.#position, state: "done", failure: null });
    this.stop();
  }

  #record(progress: Pick<PushProgress, "cursor" | "state" | "failure">): Promise<boolean> {
    const { engine, record } = this.#options;
    const { taskId, id, generation } = record;
    return engine.backend.pushes.progress({ taskId, id, generation, ...progress });
  }
}

/** A notification that the receiver has accepted. */
interface Sent extends LogPlace {
  /** The task after the event, unless it was the last one. */
  readonly snapshot: TaskSnapshot | undefined;
}

/** Whether it is the last event of a log. */
function isLast(event: PublicEvent): boolean {
  if (event.kind === "message") return true;
  return event.kind === "status-update" && isTerminal(event.status.state);
}

/**
 * Reads a log from the memory of its writer if possible, otherwise from the
 * store. That memory is updated one turn of the event loop after the commit.
 */
async function readLog(
  engine: Engine,
  taskId: string,
  { after, limit }: { readonly after: Seq; readonly limit: number },
): Promise<readonly LogEntry[]> {
  const remembered = engine.tasks.current(taskId)?.writer.tail.after(after, limit);
  if (remembered !== undefined) return remembered;
  return readEntries(await engine.backend.read(taskId, after, limit));
}
