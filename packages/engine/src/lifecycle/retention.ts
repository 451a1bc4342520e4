import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import type { Logger } from "../logging/logger.ts";
import type { Engine } from "../run/engine.ts";
import type { Backend, Seq } from "../log/backend.ts";
import { readEntry } from "../log/log-entry.ts";
import { loadTask } from "../log/task-snapshot.ts";

/** How many events of a log are read at a time. */
const PAGE = 256;

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** When ended tasks are removed. Unfinished tasks and tasks with undelivered notifications are never removed. */
export interface RetentionOptions {
  /** Remove a task this long after it ended. Default 30 days. */
  readonly maxAgeMs: number;
  /** Keep at most this many ended tasks; the oldest are removed first. Default 100,000. */
  readonly maxTasks: number;
  /** Remove at most this many tasks per transaction, so that other writes wait only briefly. Default 100. */
  readonly perCycle: number;
  /**
   * Reduce the log of a task to its final snapshot and its status updates this long after it ended.
   * Default 1 day. Afterwards clients can still read the task, but can no longer resume a stream of it.
   */
  readonly compactAfterMs: number;
  /**
   * Remember message ids, and the ids of expired contexts, for this long, so that a late retry does
   * not run twice and a client that returns learns that its conversation has expired. Default:
   * twice `maxAgeMs`.
   */
  readonly messagesMaxAgeMs?: number;
  /** How often to clean up. Default 1 minute; a busy server also cleans up after every `perCycle` ended tasks. */
  readonly everyMs: number;
}

const DEFAULT_RETENTION: RetentionOptions = {
  maxAgeMs: 30 * DAY_MS,
  maxTasks: 100_000,
  perCycle: 100,
  compactAfterMs: DAY_MS,
  everyMs: 60_000,
};

/** Limits the size of the storage: removes old tasks, compacts old logs and returns disk space. */
export class Retention {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #options: RetentionOptions;
  readonly #timer: NodeJS.Timeout;
  #ended = 0;
  #cycle: Promise<void> | undefined;
  #idsDueAt = 0;
  #isClosed = false;
  readonly #stopListening: () => void;

  constructor(engine: Engine, logger: Logger, options: Partial<RetentionOptions> = {}) {
    this.#engine = engine;
    this.#logger = logger;
    this.#options = { ...DEFAULT_RETENTION, ...options };
    this.#timer = setInterval(
      () => void this.run(),
      Math.min(this.#options.everyMs, MAX_TIMER_MS),
    ).unref();
    this.#stopListening = engine.onTaskEnded(() => {
      // On a busy server many tasks end between two cycles, and each enlarges the heap or the file.
      if (++this.#ended >= this.#options.perCycle) void this.run();
    });
  }

  /** Cleans up. Calls during a cycle share it. */
  run(): Promise<void> {
    this.#ended = 0;
    this.#cycle ??= this.#run()
      .catch((error: unknown) => this.#logger.error("cleaning up the storage failed", { error }))
      .finally(() => {
        this.#cycle = undefined;
      });
    return this.#cycle;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    clearInterval(this.#timer);
    await this.#cycle;
  }

  async #run(): Promise<void> {
    const compacted = await this.#compact();
    const pruned = await this.#prune();
    await this.#forgetIds();
    if (compacted + pruned > 0) await this.#repeat(() => this.#engine.backend.retention.reclaim());
  }

  async #prune(): Promise<number> {
    const { maxAgeMs, maxTasks: keep, perCycle: limit } = this.#options;
    const endedBefore = this.#engine.now() - maxAgeMs;
    let total = 0;
    await this.#repeat(async () => {
      const pruned = await this.#engine.backend.retention.prune({ endedBefore, keep, limit });
      total += pruned;
      return pruned === limit;
    });
    return total;
  }

  async #compact(): Promise<number> {
    const { backend, openStreams } = this.#engine;
    const { compactAfterMs, perCycle } = this.#options;
    const endedBefore = this.#engine.now() - compactAfterMs;
    let total = 0;
    await this.#repeat(async () => {
      const records = await backend.retention.compactable(endedBefore, perCycle);
      let compacted = 0;
      for (const { taskId } of records) {
        if (openStreams.has(taskId)) continue;
        const stored = await backend.tasks.get(taskId);
        if (stored === undefined) continue;
        const { task, head } = await loadTask(backend, stored);
        const snapshot = { seq: head, json: JSON.stringify(task) };
        const keep = await statusEvents(backend, taskId);
        if (await backend.retention.compact(taskId, snapshot, keep)) compacted++;
      }
      total += compacted;
      return compacted === perCycle;
    });
    return total;
  }

  /**
   * Message ids outlive their tasks, so that a late retry does not run twice (G6). So do the ids of
   * contexts, so that a client that returns to one learns that it has expired.
   */
  async #forgetIds(): Promise<void> {
    const now = this.#engine.now();
    if (now < this.#idsDueAt) return;
    const { maxAgeMs, messagesMaxAgeMs = 2 * maxAgeMs, perCycle } = this.#options;
    this.#idsDueAt = now + Math.min(HOUR_MS, messagesMaxAgeMs / 10);
    const before = now - messagesMaxAgeMs;
    const { retention } = this.#engine.backend;
    await this.#repeat(async () => (await retention.forgetMessages(before, perCycle)) === perCycle);
    await this.#repeat(async () => (await retention.forgetContexts(before, perCycle)) === perCycle);
  }

  /** Repeats a small transaction until it returns false, so that other writes wait for one of them at most. */
  async #repeat(transaction: () => Promise<boolean>): Promise<void> {
    while (!this.#isClosed && (await transaction()));
  }
}

/** The positions of the status updates of a log: the history of a task's states outlives compaction. */
async function statusEvents(backend: Backend, taskId: string): Promise<readonly Seq[]> {
  const found: Seq[] = [];
  for (let after = 0; ;) {
    const page = await backend.read(taskId, after, PAGE);
    for (const { seq, json } of page) {
      if (readEntry({ seq, json }).event.kind === "status-update") found.push(seq);
    }
    if (page.length < PAGE) return found;
    after = page.at(-1)!.seq;
  }
}
