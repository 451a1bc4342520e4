import { isTerminal, mayFollow } from "@convoke/protocol";
import type {
  Backend,
  Committed,
  NewTask,
  Seq,
  Snapshot,
  Step,
  Stored,
  TaskRecord,
} from "../log/backend.ts";
import { judge, notOneLine, type TakenMessage } from "../log/judge.ts";
import { wakeAfter } from "../log/wake-after.ts";
import { Watchers } from "../log/watchers.ts";
import { MemoryPushStore } from "./memory-push-store.ts";
import { MemoryTaskIndex } from "./memory-task-index.ts";
import {
  compactLog,
  createTask,
  headOf,
  type MemoryTask,
  readLog,
  toRecord,
} from "./memory-task.ts";
import { WhileOpen } from "./while-open.ts";
import type { PruneQuery, RetentionStore } from "../log/retention-store.ts";
import { OwnedNames } from "./owned-names.ts";

/**
 * A backend that forgets everything when the process ends: for tests, and for
 * agents whose tasks need not outlive it. It keeps every promise but durability;
 * what retention drops is memory, so there is no disk space to reclaim.
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
  readonly #whileOpen = new WhileOpen();
  readonly tasks = new MemoryTaskIndex(this.#tasks, () => this.#whileOpen.assert());
  readonly pushes = new MemoryPushStore({ tasks: this.#tasks, whileOpen: this.#whileOpen });
  readonly retention = new MemoryRetentionStore({
    tasks: this.#tasks,
    ended: this.#ended,
    messages: this.#messages,
    contexts: this.#contexts,
    pushes: this.pushes,
    whileOpen: this.#whileOpen,
  });

  commit(step: Step): Promise<Committed> {
    return this.#whileOpen.write(() => this.#apply(step));
  }

  async read(taskId: string, after: Seq, limit: number): Promise<readonly Stored[]> {
    this.#whileOpen.assert();
    const task = this.#tasks.get(taskId);
    return task === undefined ? [] : readLog(task, after, limit);
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#whileOpen.isClosed ? () => {} : this.#watchers.watch(taskId, wake);
  }

  async close(): Promise<void> {
    await this.#whileOpen.close();
    this.#tasks.clear();
    this.#ended.clear();
    this.#messages.clear();
    this.#contexts.clear();
    this.pushes.clear();
    this.#watchers.clear();
  }

  #apply(step: Step): Committed {
    const stored = this.#tasks.get(step.taskId);
    const owner = step.create?.owner ?? stored?.owner;
    if (step.events.some((event) => event.includes("\n"))) throw notOneLine(step.taskId);
    const taken =
      step.message && owner !== undefined
        ? this.#messages.find(owner, step.message.messageId)
        : undefined;
    const facts = stored && { epoch: stored.epoch, head: headOf(stored), state: stored.state };
    const { create } = step;
    const isForgotten = create?.unlessForgotten === true && this.#contexts.isForgotten(create);
    const count = step.events.length;
    const refusal = judge({ step, count, stored: facts, taken, isForgotten }, rules);
    if (refusal !== undefined) return refusal;

    const task = stored ?? createTask(step);
    this.#tasks.set(step.taskId, task);
    if (step.message) this.#take(task, step);
    for (const event of step.events) task.events.push(event);
    task.epoch = step.epoch;
    task.state = step.state;
    task.statusAt = step.statusAt;
    task.listed = step.listed;
    task.wakeAt = wakeAfter(step, task.wakeAt, rules);
    // Nothing changes after the end, so each task comes here once.
    if (isTerminal(step.state)) this.#ended.add(task);
    if (step.snapshot && step.snapshot.seq > (task.snapshot?.seq ?? 0))
      task.snapshot = step.snapshot;
    if (step.push) this.pushes.putNow(step.taskId, step.push);
    const head = headOf(task);
    this.#watchers.wake(step.taskId, head);
    return { kind: "committed", head };
  }

  #take({ owner, taskId }: MemoryTask, { message, statusAt }: Step): void {
    if (message === undefined) return;
    const { messageId, digest } = message;
    this.#messages.take({ owner, messageId, message: { taskId, digest, acceptedAt: statusAt } });
  }
}

interface Parts {
  readonly tasks: Map<string, MemoryTask>;
  readonly ended: EndedTasks;
  readonly messages: MemoryMessages;
  readonly contexts: MemoryContexts;
  readonly pushes: MemoryPushStore;
  readonly whileOpen: WhileOpen;
}

/** How the memory stays small. Only the oldest of what has ended is looked at. */
class MemoryRetentionStore implements RetentionStore {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  prune({ endedBefore, keep, limit }: PruneQuery): Promise<number> {
    return this.#parts.whileOpen.write(() => {
      const { tasks, ended, pushes, contexts } = this.#parts;
      const surplus = ended.size - keep;
      const gone: MemoryTask[] = [];
      let rank = 0;
      // Both reasons to go hold for the oldest, so the first that may stay ends the walk.
      for (const task of ended.oldestFirst()) {
        const mustGo = task.statusAt < endedBefore || rank < surplus;
        if (!mustGo || gone.length >= limit) break;
        rank += 1;
        if (!pushes.hasActive(task.taskId)) gone.push(task);
      }
      for (const task of gone) {
        const { taskId, listed } = task;
        if (listed) contexts.outlive(task);
        tasks.delete(taskId);
        ended.delete(taskId);
        pushes.dropTask(taskId);
      }
      return gone.length;
    });
  }

  forgetMessages(acceptedBefore: number, limit: number): Promise<number> {
    const { tasks, messages, whileOpen } = this.#parts;
    return whileOpen.write(() =>
      messages.forget(
        ({ acceptedAt, taskId }) => acceptedAt < acceptedBefore && !tasks.has(taskId),
        limit,
      ),
    );
  }

  forgetContexts(endedBefore: number, limit: number): Promise<number> {
    const { contexts, whileOpen } = this.#parts;
    return whileOpen.write(() => contexts.forget(endedBefore, limit));
  }

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    this.#parts.whileOpen.assert();
    const found: TaskRecord[] = [];
    for (const task of this.#parts.ended.oldestFirst()) {
      if (task.statusAt >= endedBefore || found.length >= limit) break;
      const isWhole = !task.compacted && !this.#parts.pushes.hasUndelivered(task.taskId);
      if (isWhole) found.push(toRecord(task));
    }
    return found;
  }

  compact(taskId: string, snapshot: Snapshot): Promise<boolean> {
    return this.#parts.whileOpen.write(() => {
      const task = this.#parts.tasks.get(taskId);
      if (task === undefined || !isTerminal(task.state)) return false;
      if (snapshot.seq !== headOf(task)) return false;
      if (this.#parts.pushes.hasUndelivered(taskId)) return false;
      compactLog(task, snapshot);
      return true;
    });
  }

  /** There is no disk to give back. */
  async reclaim(): Promise<boolean> {
    this.#parts.whileOpen.assert();
    return false;
  }
}

/**
 * The tasks that have ended, oldest end first. Tasks end in the order of time
 * unless a clock was set back, so they are sorted only after that happened.
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

  /** Those of one time in the order in which they ended. */
  oldestFirst(): Iterable<MemoryTask> {
    if (!this.#isSorted) {
      const sorted = [...this.#tasks.values()].toSorted((a, b) => a.statusAt - b.statusAt);
      this.#tasks = new Map(sorted.map((task) => [task.taskId, task]));
      this.#isSorted = true;
    }
    return this.#tasks.values();
  }
}

/** The contexts that have lost listed tasks. */
class MemoryContexts {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  /** When the last task that is gone ended. */
  readonly #endedAt = new OwnedNames<number>();

  constructor(tasks: ReadonlyMap<string, MemoryTask>) {
    this.#tasks = tasks;
  }

  /** Looks at every task, but only for a context that has lost some. */
  isForgotten({ owner, contextId }: NewTask): boolean {
    if (this.#endedAt.get(owner, contextId) === undefined) return false;
    for (const task of this.#tasks.values()) {
      if (task.listed && task.owner === owner && task.contextId === contextId) return false;
    }
    return true;
  }

  /** Notes that a listed task is gone. */
  outlive({ owner, contextId, statusAt }: MemoryTask): void {
    const earlier = this.#endedAt.get(owner, contextId) ?? statusAt;
    this.#endedAt.set(owner, contextId, Math.max(statusAt, earlier));
  }

  /** Frees the names of those whose tasks ended before a time, oldest first. */
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

interface Accepted {
  readonly owner: string;
  readonly messageId: string;
  readonly message: Message;
}

/** Which message ids are taken. */
class MemoryMessages {
  readonly #taken = new OwnedNames<Message>();

  find(owner: string, messageId: string): TakenMessage | undefined {
    return this.#taken.get(owner, messageId);
  }

  take({ owner, messageId, message }: Accepted): void {
    this.#taken.set(owner, messageId, message);
  }

  /** Frees the ids of old messages of tasks that are gone, oldest first. */
  forget(isForgettable: (message: Message) => boolean, limit: number): number {
    return this.#taken.forget(limit, { isForgettable, timeOf: ({ acceptedAt }) => acceptedAt });
  }

  clear(): void {
    this.#taken.clear();
  }
}
