import { isTerminal, mayFollow } from "@convoke/protocol";
import type {
  Backend,
  CommitResult,
  CommitStep,
  NewTask,
  PruneQuery,
  RetentionStore,
  Seq,
  StoredEvent,
  StoredSnapshot,
  TaskRecord,
} from "../log/backend.ts";
import { type TakenMessage, checkCommit, notOneLine, wakeAtAfter } from "../log/check-commit.ts";
import { Watchers } from "../log/watchers.ts";
import { MemoryPushStore } from "./memory-push-store.ts";
import {
  type MemoryTask,
  MemoryTaskIndex,
  applyStep,
  compactLog,
  createTask,
  hasEvents,
  headOf,
  readLog,
  toRecord,
} from "./memory-task.ts";
import { WriteGate } from "./write-gate.ts";

/**
 * Creates a backend that keeps tasks in memory only: for tests, and for agents
 * whose tasks need not survive a restart. It fulfils the whole contract except
 * durability.
 */
export function createMemoryBackend(): Backend {
  return new MemoryBackend();
}

const rules = { isTerminal, mayFollow };

class MemoryBackend implements Backend {
  readonly #tasks = new Map<string, MemoryTask>();
  readonly #ended = new EndedTasks();
  readonly #messages = new MemoryMessages();
  readonly #contexts = new MemoryContexts(this.#tasks);
  readonly #watchers = new Watchers();
  readonly #gate = new WriteGate();
  readonly tasks = new MemoryTaskIndex(this.#tasks, () => this.#gate.assert());
  readonly pushes = new MemoryPushStore({ tasks: this.#tasks, gate: this.#gate });
  readonly retention = new MemoryRetentionStore({
    tasks: this.#tasks,
    ended: this.#ended,
    messages: this.#messages,
    contexts: this.#contexts,
    pushes: this.pushes,
    gate: this.#gate,
  });

  commit(step: CommitStep): Promise<CommitResult> {
    return this.#gate.write(() => this.#apply(step));
  }

  async read(taskId: string, after: Seq, limit: number): Promise<readonly StoredEvent[]> {
    this.#gate.assert();
    const task = this.#tasks.get(taskId);
    return task === undefined ? [] : readLog(task, after, limit);
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#gate.isClosed ? () => {} : this.#watchers.watch(taskId, wake);
  }

  async close(): Promise<void> {
    await this.#gate.close();
    this.#tasks.clear();
    this.#ended.clear();
    this.#messages.clear();
    this.#contexts.clear();
    this.pushes.clear();
    this.#watchers.clear();
  }

  #apply(step: CommitStep): CommitResult {
    const stored = this.#tasks.get(step.taskId);
    const { owner, agentId } = step.create ?? stored ?? {};
    const ofAgent = step.perAgent === true ? (agentId ?? NO_AGENT) : undefined;
    if (step.events.some((event) => event.includes("\n"))) throw notOneLine(step.taskId);
    const taken =
      step.message && owner !== undefined
        ? this.#messages.find(owner, step.message.messageId, ofAgent)
        : undefined;
    const facts = stored && { epoch: stored.epoch, head: headOf(stored), state: stored.state };
    const { create } = step;
    const isForgotten =
      create?.unlessForgotten === true && this.#contexts.isForgotten(create, ofAgent);
    const count = step.events.length;
    const result = checkCommit(
      {
        step,
        count,
        stored: facts,
        taken,
        isForgotten,
        hasEvents: (after) => hasEvents(stored!, after, step.events),
      },
      rules,
    );
    if (result !== undefined) return result;

    const task = stored ?? createTask(step);
    this.#tasks.set(step.taskId, task);
    if (step.message) this.#take(task, step);
    applyStep(task, step, wakeAtAfter(step, task.wakeAt, rules));
    // Nothing changes after the end, so each task is added once.
    if (isTerminal(step.state)) this.#ended.add(task);
    if (step.push) this.pushes.putNow(step.taskId, step.push);
    const head = headOf(task);
    this.#watchers.wake(step.taskId, head);
    return { kind: "committed", head };
  }

  #take(task: MemoryTask, { message, statusAt }: CommitStep): void {
    if (message === undefined) return;
    const { taskId } = task;
    const { messageId, digest } = message;
    this.#messages.take(task, messageId, { taskId, digest, acceptedAt: statusAt });
  }
}

interface Parts {
  readonly tasks: Map<string, MemoryTask>;
  readonly ended: EndedTasks;
  readonly messages: MemoryMessages;
  readonly contexts: MemoryContexts;
  readonly pushes: MemoryPushStore;
  readonly gate: WriteGate;
}

/** Removes and compacts ended tasks, oldest first. */
class MemoryRetentionStore implements RetentionStore {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  prune({ endedBefore, keep, limit }: PruneQuery): Promise<number> {
    return this.#parts.gate.write(() => {
      const { tasks, ended, pushes, contexts } = this.#parts;
      const surplus = ended.size - keep;
      const removed: MemoryTask[] = [];
      let rank = 0;
      // Both criteria apply to the oldest tasks first, so the first task that can stay ends the loop.
      for (const task of ended.oldestFirst()) {
        const isExpired = task.statusAt < endedBefore || rank < surplus;
        if (!isExpired || removed.length >= limit) break;
        rank += 1;
        if (!pushes.hasActive(task.taskId)) removed.push(task);
      }
      for (const task of removed) {
        const { taskId, listed } = task;
        if (listed) contexts.add(task);
        tasks.delete(taskId);
        ended.delete(taskId);
        pushes.dropTask(taskId);
      }
      return removed.length;
    });
  }

  forgetMessages(acceptedBefore: number, limit: number): Promise<number> {
    const { tasks, messages, gate } = this.#parts;
    return gate.write(() =>
      messages.forget(
        ({ acceptedAt, taskId }) => acceptedAt < acceptedBefore && !tasks.has(taskId),
        limit,
      ),
    );
  }

  forgetContexts(endedBefore: number, limit: number): Promise<number> {
    const { contexts, gate } = this.#parts;
    return gate.write(() => contexts.forget(endedBefore, limit));
  }

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    this.#parts.gate.assert();
    const found: TaskRecord[] = [];
    for (const task of this.#parts.ended.oldestFirst()) {
      if (task.statusAt >= endedBefore || found.length >= limit) break;
      const isWhole = !task.compacted && !this.#parts.pushes.hasUndelivered(task.taskId);
      if (isWhole) found.push(toRecord(task));
    }
    return found;
  }

  compact(taskId: string, snapshot: StoredSnapshot, keep: readonly Seq[] = []): Promise<boolean> {
    return this.#parts.gate.write(() => {
      const task = this.#parts.tasks.get(taskId);
      if (task === undefined || !isTerminal(task.state)) return false;
      if (snapshot.seq !== headOf(task)) return false;
      if (this.#parts.pushes.hasUndelivered(taskId)) return false;
      compactLog(task, snapshot, keep);
      return true;
    });
  }

  /** There is no disk space to return. */
  async reclaim(): Promise<boolean> {
    this.#parts.gate.assert();
    return false;
  }
}

/**
 * The tasks that have ended, oldest first. Tasks end in chronological order unless
 * the clock is set back, so they are sorted only after that has happened.
 */
class EndedTasks {
  #tasks = new Map<string, MemoryTask>();
  #newest = Number.NEGATIVE_INFINITY;
  #isSorted = true;

  get size(): number {
    return this.#tasks.size;
  }

  add(task: MemoryTask): void {
    if (task.statusAt < this.#newest) this.#isSorted = false;
    this.#newest = Math.max(this.#newest, task.statusAt);
    this.#tasks.set(task.taskId, task);
  }

  delete(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  clear(): void {
    this.#tasks.clear();
  }

  /** Tasks with equal times stay in the order in which they ended. */
  oldestFirst(): Iterable<MemoryTask> {
    if (!this.#isSorted) {
      const sorted = [...this.#tasks.values()].toSorted((a, b) => a.statusAt - b.statusAt);
      this.#tasks = new Map(sorted.map((task) => [task.taskId, task]));
      this.#isSorted = true;
    }
    return this.#tasks.values();
  }
}

/** Contexts from which listed tasks were removed. */
class MemoryContexts {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  /** When the last removed task ended. */
  readonly #endedAt = new UsedIds<number>();

  constructor(tasks: ReadonlyMap<string, MemoryTask>) {
    this.#tasks = tasks;
  }

  /** Whether all listed tasks of the context were removed, or all those of one agent. */
  isForgotten({ owner, contextId }: NewTask, ofAgent: string | undefined): boolean {
    if (this.#endedAt.get(owner, contextId, ofAgent) === undefined) return false;
    for (const task of this.#tasks.values()) {
      const isMeant = ofAgent === undefined || task.agentId === ofAgent;
      if (isMeant && task.listed && task.owner === owner && task.contextId === contextId) {
        return false;
      }
    }
    return true;
  }

  /** Records that a listed task was removed. */
  add({ owner, agentId = NO_AGENT, contextId, statusAt }: MemoryTask): void {
    const earlier = this.#endedAt.get(owner, contextId, agentId) ?? statusAt;
    this.#endedAt.set({ owner, agentId, id: contextId }, Math.max(statusAt, earlier));
  }

  /** Forgets contexts whose tasks ended before a time, oldest first. */
  forget(endedBefore: number, limit: number): number {
    return this.#endedAt.forget(limit, {
      isForgettable: (endedAt) => endedAt < endedBefore,
      timeOf: (endedAt) => endedAt,
    });
  }

  clear(): void {
    this.#endedAt.clear();
  }
}

interface Message extends TakenMessage {
  readonly acceptedAt: number;
}

/** The message ids in use. */
class MemoryMessages {
  readonly #taken = new UsedIds<Message>();

  find(owner: string, messageId: string, ofAgent: string | undefined): TakenMessage | undefined {
    return this.#taken.get(owner, messageId, ofAgent);
  }

  take({ owner, agentId = NO_AGENT }: MemoryTask, messageId: string, message: Message): void {
    this.#taken.set({ owner, agentId, id: messageId }, message);
  }

  /** Frees ids, oldest first. */
  forget(isForgettable: (message: Message) => boolean, limit: number): number {
    return this.#taken.forget(limit, { isForgettable, timeOf: ({ acceptedAt }) => acceptedAt });
  }

  clear(): void {
    this.#taken.clear();
  }
}

/** The agent of tasks that have no agent id. */
const NO_AGENT = "";

interface UsedId {
  readonly owner: string;
  readonly agentId: string;
  readonly id: string;
}

/** Ids of messages or contexts by owner and agent, each with a value. They outlive their tasks. */
class UsedIds<Value> {
  /** By owner and id, then by agent. */
  readonly #byId = new Map<string, Map<string, Value>>();

  /** The value of an id for one agent, or for any. */
  get(owner: string, id: string, ofAgent: string | undefined): Value | undefined {
    const values = this.#byId.get(JSON.stringify([owner, id]));
    return ofAgent === undefined ? values?.values().next().value : values?.get(ofAgent);
  }

  set({ owner, agentId, id }: UsedId, value: Value): void {
    const key = JSON.stringify([owner, id]);
    const values = this.#byId.get(key) ?? new Map<string, Value>();
    this.#byId.set(key, values.set(agentId, value));
  }

  /** Removes matching ids, oldest first. Returns how many were removed. */
  forget(
    limit: number,
    rule: {
      readonly isForgettable: (value: Value) => boolean;
      readonly timeOf: (value: Value) => number;
    },
  ): number {
    const forgotten = [...this.#byId]
      .flatMap(([key, values]) =>
        Array.from(values, ([agentId, value]) => ({ key, agentId, value })),
      )
      .filter(({ value }) => rule.isForgettable(value))
      .toSorted((left, right) => rule.timeOf(left.value) - rule.timeOf(right.value))
      .slice(0, limit);
    for (const { key, agentId } of forgotten) {
      const values = this.#byId.get(key);
      values?.delete(agentId);
      if (values?.size === 0) this.#byId.delete(key);
    }
    return forgotten.length;
  }

  clear(): void {
    this.#byId.clear();
  }
}
