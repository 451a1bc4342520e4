import { isTerminal, mayFollow } from "@convoke/protocol";
import type {
  Backend,
  CommitResult,
  CommitStep,
  PruneQuery,
  RemoveQuery,
  RetentionStore,
  Seq,
  StoredErasure,
  StoredEvent,
  StoredSnapshot,
  TaskRecord,
} from "../log/backend.ts";
import { checkCommit, notOneLine, wakeAtAfter } from "../log/check-commit.ts";
import { Watchers } from "../log/watchers.ts";
import { MemoryBlobStore } from "./memory-blob-store.ts";
import { MemoryContexts, MemoryMessages, NO_AGENT } from "./memory-ids.ts";
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
  readonly blobs = new MemoryBlobStore();
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
    this.blobs.clear();
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
  readonly #erasures = new Map<string, string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  prune(query: PruneQuery): Promise<readonly string[]> {
    const { endedBefore, keep, limit, owner, exceptOwners = [] } = query;
    const { agentId, exceptAgents = [], endedFrom = 0 } = query;
    return this.#parts.gate.write(() => {
      const { ended, pushes } = this.#parts;
      const surplus = ended.size - keep;
      const removed: MemoryTask[] = [];
      let rank = 0;
      // Both criteria apply to the oldest tasks first, so the first task that can stay ends the loop.
      for (const task of ended.oldestFirst()) {
        const isExpired = task.statusAt < endedBefore || rank < surplus;
        if (!isExpired || removed.length >= limit) break;
        rank += 1;
        if (task.statusAt < endedFrom) continue;
        const isMeant = owner === undefined || task.owner === owner;
        if (!isMeant || exceptOwners.includes(task.owner)) continue;
        const isOfAgent = agentId === undefined || task.agentId === agentId;
        if (!isOfAgent || exceptAgents.includes(task.agentId ?? "")) continue;
        if (!pushes.hasActive(task.taskId)) removed.push(task);
      }
      for (const task of removed) this.#delete(task);
      return removed.map(({ taskId }) => taskId);
    });
  }

  remove({ taskIds, freesMessages = false }: RemoveQuery): Promise<readonly string[]> {
    return this.#parts.gate.write(() => {
      const { tasks, messages } = this.#parts;
      const removed = taskIds.filter((taskId) => {
        const task = tasks.get(taskId);
        if (task === undefined || !isTerminal(task.state)) return false;
        this.#delete(task);
        return true;
      });
      const freed = new Set(removed);
      if (freesMessages) messages.forget(({ taskId }) => freed.has(taskId), Infinity);
      return removed;
    });
  }

  #delete(task: MemoryTask): void {
    const { tasks, ended, pushes, contexts } = this.#parts;
    if (task.listed) contexts.add(task);
    tasks.delete(task.taskId);
    ended.delete(task.taskId);
    pushes.dropTask(task.taskId);
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

  forgetOwner(owner: string): Promise<void> {
    const { tasks, messages, contexts, gate } = this.#parts;
    return gate.write(() => {
      messages.forgetOwner(owner, ({ taskId }) => !tasks.has(taskId));
      contexts.forgetOwner(owner);
    });
  }

  async erasures(): Promise<readonly StoredErasure[]> {
    this.#parts.gate.assert();
    const ids = [...this.#erasures.keys()].toSorted();
    return ids.map((id) => ({ id, json: this.#erasures.get(id)! }));
  }

  putErasure(id: string, json: string | null): Promise<boolean> {
    return this.#parts.gate.write(() => {
      const wasThere = this.#erasures.delete(id);
      if (json !== null) this.#erasures.set(id, json);
      return wasThere;
    });
  }

  /** There are no files. */
  async purge(): Promise<void> {
    this.#parts.gate.assert();
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
