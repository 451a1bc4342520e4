import type { TaskState } from "@convoke/protocol";
import type { Seq } from "@convoke/engine";

/** What the writer remembers of a task, to save a query for each of its steps. */
export interface KnownTask {
  readonly n: number;
  readonly owner: string;
  epoch: number;
  state: TaskState;
  statusAt: number;
  listed: boolean;
  head: Seq;
  snapshotSeq: Seq;
  /** `null` when it does not want to be woken. */
  wakeAt: number | null;
  /** The events of the open transaction after `written`, joined; they become one segment. */
  unwritten?: string | undefined;
  written: Seq;
}

/**
 * The tasks that were written to lately, bounded. Two generations instead of an
 * exact order of use: a hit costs one lookup, and when the young one is full the
 * old one is dropped as a whole.
 */
export class TaskCache {
  readonly #capacity: number;
  #young = new Map<string, KnownTask>();
  #old = new Map<string, KnownTask>();

  constructor(capacity = 5_000) {
    this.#capacity = capacity;
  }

  get(taskId: string): KnownTask | undefined {
    const young = this.#young.get(taskId);
    if (young !== undefined) return young;
    const old = this.#old.get(taskId);
    return old && this.keep(taskId, old);
  }

  keep(taskId: string, task: KnownTask): KnownTask {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(taskId, task);
    return task;
  }

  drop(taskId: string): void {
    this.#young.delete(taskId);
    this.#old.delete(taskId);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
