import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import type { Logger } from "../logging/logger.ts";
import type { Engine } from "../run/engine.ts";
import { loadTask } from "../log/load-task.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

export interface RetentionOptions {
  /** How long a task is kept after it has ended. */
  readonly maxAgeMs: number;
  /** How many ended tasks are kept. */
  readonly maxTasks: number;
  /** How many are forgotten in one go. */
  readonly perCycle: number;
  /** When the log of an ended task shrinks to its snapshot and its last event. */
  readonly compactAfterMs: number;
  /** How long the id of a message stays taken, and an expired context known as such; by default twice as long as tasks are kept. */
  readonly messagesMaxAgeMs?: number;
  /** How often it looks. */
  readonly everyMs: number;
}

const DEFAULT_RETENTION: RetentionOptions = {
  maxAgeMs: 30 * DAY_MS,
  maxTasks: 100_000,
  perCycle: 100,
  compactAfterMs: DAY_MS,
  everyMs: 60_000,
};

/** Keeps the storage small: forgets old tasks, shortens old logs, gives disk space back. */
export class Retention {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #options: RetentionOptions;
  readonly #timer: NodeJS.Timeout;
  #ended = 0;
  #cycle: Promise<void> | undefined;
  #namesDueAt = 0;
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
      // Many tasks end between two looks on a busy server, and each makes the heap or the file larger.
      if (++this.#ended >= this.#options.perCycle) void this.run();
    });
  }

  /** Does what is due. Whoever comes while it works waits for the same. */
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
    await this.#forgetNames();
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
    const { backend, readers } = this.#engine;
    const { compactAfterMs, perCycle } = this.#options;
    const endedBefore = this.#engine.now() - compactAfterMs;
    let total = 0;
    await this.#repeat(async () => {
      const records = await backend.retention.compactable(endedBefore, perCycle);
      let compacted = 0;
      for (const { taskId } of records) {
        if (readers.has(taskId)) continue;
        const stored = await backend.tasks.get(taskId);
        if (stored === undefined) continue;
        const { task, head } = await loadTask(backend, stored);
        const snapshot = { seq: head, json: JSON.stringify(task) };
        if (await backend.retention.compact(taskId, snapshot)) compacted++;
      }
      total += compacted;
      return compacted === perCycle;
    });
    return total;
  }

  /**
   * Ids of messages outlive their tasks, so that a late retry does not run twice (G6). So do the
   * names of contexts, so that who comes back to one learns that it has expired.
   */
  async #forgetNames(): Promise<void> {
    const now = this.#engine.now();
    if (now < this.#namesDueAt) return;
    const { maxAgeMs, messagesMaxAgeMs = 2 * maxAgeMs, perCycle } = this.#options;
    this.#namesDueAt = now + Math.min(HOUR_MS, messagesMaxAgeMs / 10);
    const before = now - messagesMaxAgeMs;
    const { retention } = this.#engine.backend;
    await this.#repeat(async () => (await retention.forgetMessages(before, perCycle)) === perCycle);
    await this.#repeat(async () => (await retention.forgetContexts(before, perCycle)) === perCycle);
  }

  /** In small bites, so that whoever writes meanwhile waits for one of them at most. */
  async #repeat(bite: () => Promise<boolean>): Promise<void> {
    while (!this.#isClosed && (await bite()));
  }
}
