import { isTerminal } from "@convoke/protocol";
import type { PruneQuery, RetentionStore } from "../log/retention-store.ts";
import type { Snapshot, TaskRecord } from "../log/backend.ts";
import type { EndedTasks } from "./ended-tasks.ts";
import type { MemoryContexts } from "./memory-contexts.ts";
import type { MemoryMessages } from "./memory-messages.ts";
import type { MemoryPushStore } from "./memory-push-store.ts";
import { type MemoryTask, compactLog, headOf, toRecord } from "./memory-task.ts";
import type { WhileOpen } from "./while-open.ts";

interface Parts {
  readonly tasks: Map<string, MemoryTask>;
  readonly ended: EndedTasks;
  readonly messages: MemoryMessages;
  readonly contexts: MemoryContexts;
  readonly pushes: MemoryPushStore;
  readonly whileOpen: WhileOpen;
}

/** How the memory stays small. Only the oldest of what has ended is looked at. */
export class MemoryRetentionStore implements RetentionStore {
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
