import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { TaskState } from "@convoke/protocol";

/**
 * How many tasks there are, so that nobody has to count them: listed ones by
 * owner and state, for the totals of lists, and those that have ended, for
 * retention. Lives in the writer thread, inside a transaction.
 */
export class TaskCounts {
  readonly #add: StatementSync;
  readonly #countEnded: StatementSync;
  /** What the open transaction changes, by owner and state. */
  readonly #changes = new Map<string, Map<TaskState, number>>();
  /** Counted when it is first asked for, and kept from then on. */
  #ended: number | undefined;

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(`
      INSERT INTO counts (owner, state, tasks) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks`);
    this.#countEnded = db.prepare(COUNT_ENDED);
  }

  /** A listed task of that state is there, or is gone with a negative number. */
  listed(owner: string, state: TaskState, change: 1 | -1): void {
    const states = this.#changes.get(owner) ?? new Map<TaskState, number>();
    states.set(state, (states.get(state) ?? 0) + change);
    this.#changes.set(owner, states);
  }

  /** A task has ended, or one that had is gone. */
  ended(change: 1 | -1): void {
    if (this.#ended !== undefined) this.#ended += change;
  }

  get endedTasks(): number {
    this.#ended ??= (this.#countEnded.get() as { readonly ended: number }).ended;
    return this.#ended;
  }

  /** One row for each owner and state, however many tasks of a batch went through it. */
  flush(): void {
    for (const [owner, states] of this.#changes) {
      for (const [state, change] of states) {
        if (change !== 0) this.#add.run(owner, state, change);
      }
    }
    this.#changes.clear();
  }

  /** Drops what was learnt from a transaction that did not happen. */
  forget(): void {
    this.#changes.clear();
    this.#ended = undefined;
  }
}

/** Counted in an index that holds nothing else, some nanoseconds for each. */
export const COUNT_ENDED =
  "SELECT count(*) AS ended FROM tasks INDEXED BY tasks_ended WHERE ended = 1";
