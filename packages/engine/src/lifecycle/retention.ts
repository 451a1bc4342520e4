import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import type { Logger } from "../logging/logger.ts";
import type { Engine } from "../run/engine.ts";
import type { Backend, PruneQuery, Seq } from "../log/backend.ts";
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
  /**
   * Other ages for the tasks of some owners, by the names of the owners as they are stored: of those
   * in a tenant, `["tenant","owner"]`. Their tasks are removed at that age instead of `maxAgeMs`, and
   * not because of `maxTasks`. Default: all owners are alike.
   *
   * @example
   * owners: { ann: { maxAgeMs: 24 * 60 * 60_000 } }
   */
  readonly owners?: Readonly<Record<string, { readonly maxAgeMs: number }>>;
  /**
   * Other ages for the tasks of some agents, by their ids, as `owners` has them. If both the owner and
   * the agent of a task have an age of their own, that of the owner counts. Default: all agents are
   * alike.
   *
   * @example
   * agents: { archive: { maxAgeMs: 365 * 24 * 60 * 60_000 } }
   */
  readonly agents?: Readonly<Record<string, { readonly maxAgeMs: number }>>;
  /** How often to clean up. Default 1 minute; a busy server also cleans up whenever a hundredth of `maxTasks` have ended, and at least `perCycle`. */
  readonly everyMs: number;
}

const DEFAULT_RETENTION: RetentionOptions = {
  maxAgeMs: 30 * DAY_MS,
  maxTasks: 100_000,
  perCycle: 100,
  compactAfterMs: DAY_MS,
  everyMs: 60_000,
};

/** For tasks in memory: fewer than on disk, because memory is scarcer and lost at the next restart anyway. */
export const MEMORY_RETENTION: Partial<RetentionOptions> = { maxTasks: 1000, perCycle: 100 };

/** Completes the options. Throws if one of them is not possible, with its name. */
function resolveRetention(given: Partial<RetentionOptions>): RetentionOptions {
  const options = { ...DEFAULT_RETENTION, ...given };
  const { owners = {}, agents = {}, ...numbers } = options;
  const ages = Object.entries({ owners, agents }).flatMap(([kind, exceptions]) =>
    Object.entries(exceptions).map(
      ([name, { maxAgeMs }]) => [`${kind}[${JSON.stringify(name)}].maxAgeMs`, maxAgeMs] as const,
    ),
  );
  for (const [name, value] of [...Object.entries(numbers), ...ages]) {
    const least = name === "perCycle" || name === "everyMs" ? 1 : 0;
    if (value === undefined || (typeof value === "number" && value >= least)) continue;
    throw new RangeError(
      `retention.${name} must be a number, ${least} or more, not ${String(value)}`,
    );
  }
  return options;
}

/** Limits the size of the storage: removes old tasks, compacts old logs and returns disk space. */
export class Retention {
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #options: RetentionOptions;
  readonly #resumeErasures: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #ended = 0;
  #cycle: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #idsDueAt = 0;
  #exceptionsDueAt = 0;
  /** Of tasks that ended before, only those are left that must not be pruned. */
  #prunedBefore = 0;
  #sweepDueAt = 0;
  #isClosed = false;
  readonly #stopListening: () => void;

  /** @param resumeErasures finishes erasures that have begun, of which another process may have died */
  constructor(
    engine: Engine,
    logger: Logger,
    options: Partial<RetentionOptions> = {},
    resumeErasures: () => Promise<void> = async () => undefined,
  ) {
    this.#engine = engine;
    this.#resumeErasures = resumeErasures;
    this.#logger = logger;
    this.#options = resolveRetention(options);
    this.#timer = setInterval(
      () => void this.run(),
      Math.min(this.#options.everyMs, MAX_TIMER_MS),
    ).unref();
    const mostEnded = Math.max(this.#options.perCycle, this.#options.maxTasks / 100);
    this.#stopListening = engine.onTaskEnded(() => {
      // On a busy server many tasks end between two cycles, and each enlarges the heap or the file.
      if (++this.#ended >= mostEnded) void this.run();
    });
  }

  /** Cleans up. Calls during a cycle share the next one: tasks may have ended since this one looked. */
  run(): Promise<void> {
    this.#ended = 0;
    if (this.#cycle === undefined) return (this.#cycle = this.#runCycle());
    this.#next ??= this.#cycle.then(() => {
      this.#next = undefined;
      return this.#isClosed ? undefined : this.run();
    });
    return this.#next;
  }

  async #runCycle(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      this.#logger.error("cleaning up the storage failed", { error });
    } finally {
      this.#cycle = undefined;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopListening();
    clearInterval(this.#timer);
    await (this.#next ?? this.#cycle);
  }

  async #run(): Promise<void> {
    await this.#resumeErasures();
    const compacted = await this.#compact();
    const pruned = await this.#prune();
    await this.#forgetIds();
    await this.#sweepFiles();
    if (compacted + pruned > 0) await this.#repeat(() => this.#engine.backend.retention.reclaim());
  }

  async #prune(): Promise<number> {
    const now = this.#engine.now();
    // Tasks of exceptions are found among all others, and the others among them, so not in every cycle.
    const isDue = now >= this.#exceptionsDueAt;
    const total = await this.#pruneOthers(now, isDue);
    return isDue ? total + (await this.#pruneExceptions(now)) : total;
  }

  /** @param isWhole whether to look again at tasks that were spared before */
  async #pruneOthers(now: number, isWhole: boolean): Promise<number> {
    const { maxAgeMs, maxTasks: keep, owners = {}, agents = {} } = this.#options;
    const [exceptOwners, exceptAgents] = [Object.keys(owners), Object.keys(agents)];
    const hasExceptions = exceptOwners.length + exceptAgents.length > 0;
    const endedBefore = now - maxAgeMs;
    const from = hasExceptions && !isWhole && { endedFrom: this.#prunedBefore };
    const query = { endedBefore, keep, exceptOwners, exceptAgents, ...from };
    const total = await this.#pruneAll(query);
    if (isWhole) this.#prunedBefore = endedBefore;
    return total;
  }

  async #pruneExceptions(now: number): Promise<number> {
    const { owners = {}, agents = {} } = this.#options;
    const all = [...Object.values(owners), ...Object.values(agents)];
    const shortestMs = Math.min(...all.map(({ maxAgeMs }) => maxAgeMs));
    this.#exceptionsDueAt = now + Math.min(HOUR_MS, shortestMs / 10);
    const keep = Infinity;
    let total = 0;
    for (const [owner, { maxAgeMs }] of Object.entries(owners)) {
      total += await this.#pruneAll({ endedBefore: now - maxAgeMs, keep, owner });
    }
    const exceptOwners = Object.keys(owners);
    for (const [agentId, { maxAgeMs }] of Object.entries(agents)) {
      total += await this.#pruneAll({ endedBefore: now - maxAgeMs, keep, agentId, exceptOwners });
    }
    return total;
  }

  async #pruneAll(query: Omit<PruneQuery, "limit">): Promise<number> {
    const { perCycle: limit } = this.#options;
    let total = 0;
    await this.#repeat(async () => {
      const pruned = await this.#engine.backend.retention.prune({ ...query, limit });
      await this.#engine.files.deleteTasks(pruned);
      total += pruned.length;
      return pruned.length === limit;
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

  /** Deletes files that belong to no task, once a day: a crash leaves few of them. */
  async #sweepFiles(): Promise<void> {
    const now = this.#engine.now();
    if (now < this.#sweepDueAt) return;
    this.#sweepDueAt = now + DAY_MS;
    const { backend, files } = this.#engine;
    await files.sweep(now - DAY_MS, async (taskId) => {
      if (this.#isClosed) return true;
      return (await backend.tasks.record(taskId)) !== undefined;
    });
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
