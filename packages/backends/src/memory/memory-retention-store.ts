import { isTerminal } from "@convoke/protocol";
import type { PruneQuery, RetentionStore, Snapshot, TaskRecord } from "@convoke/server/backend";
import type { MemoryMessages } from "./memory-messages.ts";
import type { MemoryPushStore } from "./memory-push-store.ts";
import { type MemoryTask, compactLog, headOf, toRecord } from "./memory-task.ts";
import type { WhileOpen } from "./while-open.ts";

interface Parts {
  readonly tasks: Map<string, MemoryTask>;
  readonly messages: MemoryMessages;
  readonly pushes: MemoryPushStore;
  readonly whileOpen: WhileOpen;
}

/** How the memory stays small. Like lists, it looks at every task. */
export class MemoryRetentionStore implements RetentionStore {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  prune({ endedBefore, keep, limit }: PruneQuery): Promise<number> {
    return this.#parts.whileOpen.write(() => {
      const { tasks, pushes } = this.#parts;
      const ended = this.#ended();
      const surplus = ended.length - keep;
      const gone = ended
        .filter(({ statusAt }, rank) => statusAt < endedBefore || rank < surplus)
        .filter(({ taskId }) => !pushes.hasActive(taskId))
        .slice(0, limit);
      for (const { taskId } of gone) {
        tasks.delete(taskId);
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

  async compactable(endedBefore: number, limit: number): Promise<readonly TaskRecord[]> {
    this.#parts.whileOpen.assert();
    return this.#ended()
      .filter(
        ({ taskId, compacted, statusAt }) =>
          !compacted && statusAt < endedBefore && !this.#parts.pushes.hasUndelivered(taskId),
      )
      .slice(0, limit)
      .map(toRecord);
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

  /** Oldest end first; those of one time in the order they were created, which is the order of the map. */
  #ended(): readonly MemoryTask[] {
    return [...this.#parts.tasks.values()]
      .filter(({ state }) => isTerminal(state))
      .toSorted((left, right) => left.statusAt - right.statusAt);
  }
}
