import { type Task, isTerminal } from "@convoke/protocol";
import type { Seq, Snapshot } from "./backend.ts";

/** While a task goes on, its fold is in memory: a snapshot only bounds what a restart has to read. */
const MIN_GROWTH = 256 * 1024;

/** A finished task is read from the store alone; a shorter log is folded faster than a snapshot is written. */
const MIN_GROWTH_AT_END = 32 * 1024;

/** How many times its own size the log behind a snapshot may grow. */
const GROWTH_FACTOR = 4;

/**
 * Decides when the stored snapshot is rewritten: when the log has grown by a
 * multiple of the snapshot's own size, so that the cost per event is constant
 * and reading a task costs no more than a few times its size (G9).
 */
export class SnapshotPolicy {
  #grown = 0;
  #size = 0;

  /** The snapshot to store with a step that ends at `seq`, if one is due. */
  due(seq: Seq, bytes: number, task: Task): Snapshot | undefined {
    this.#grown += bytes;
    const least = isTerminal(task.status.state)
      ? MIN_GROWTH_AT_END
      : Math.max(MIN_GROWTH, GROWTH_FACTOR * this.#size);
    if (this.#grown < least) return undefined;
    const json = JSON.stringify(task);
    this.#grown = 0;
    this.#size = json.length;
    return { seq, json };
  }
}
