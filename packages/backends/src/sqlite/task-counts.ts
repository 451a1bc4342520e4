import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { TaskState } from "@convoke/protocol";

/** Whose tasks are counted together. */
interface CountedBy {
  readonly owner: string;
  /** `null` for tasks without an agent id. */
  readonly agentId: string | null;
}

/**
 * Maintained task counts: listed tasks by owner, agent and state, for the totals of lists,
 * and ended tasks, for retention. Only `flush` writes.
 */
export class TaskCounts {
  readonly #add: StatementSync;
  readonly #forgetOwner: StatementSync;
  readonly #addEnded: StatementSync;
  readonly #findEnded: StatementSync;
  /** The changes since the last flush, by owner, agent and state. */
  readonly #changes = new Map<string, Map<string, Map<TaskState, number>>>();
  /** By how many the ended tasks have changed since the last flush. */
  #ended = 0;

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(`
      INSERT INTO counts (owner, agent_id, state, tasks) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks`);
    this.#forgetOwner = db.prepare("DELETE FROM counts WHERE owner = ? AND tasks = 0");
    this.#addEnded = db.prepare("UPDATE store SET ended = ended + ?");
    this.#findEnded = db.prepare("SELECT ended FROM store");
  }

  /** Adds or removes a listed task. */
  listed({ owner, agentId }: CountedBy, state: TaskState, change: 1 | -1): void {
    const agents = this.#changes.get(owner) ?? new Map<string, Map<TaskState, number>>();
    const states = agents.get(agentId ?? "") ?? new Map<TaskState, number>();
    states.set(state, (states.get(state) ?? 0) + change);
    this.#changes.set(owner, agents.set(agentId ?? "", states));
  }

  /** Adds or removes an ended task. */
  ended(change: 1 | -1): void {
    this.#ended += change;
  }

  get endedTasks(): number {
    return (this.#findEnded.get() as { readonly ended: number }).ended + this.#ended;
  }

  /** Writes one row per owner, agent and state, however many tasks have changed it. */
  flush(): void {
    for (const [owner, agents] of this.#changes) {
      for (const [agentId, states] of agents) {
        for (const [state, change] of states) {
          if (change !== 0) this.#add.run(owner, agentId, state, change);
        }
      }
    }
    if (this.#ended !== 0) this.#addEnded.run(this.#ended);
    this.#changes.clear();
    this.#ended = 0;
  }

  /** Removes the counts of an owner that has no such tasks any more. Call `flush` first. */
  forgetOwner(owner: string): void {
    this.#forgetOwner.run(owner);
  }

  /** Forgets all changes, after a transaction that was rolled back. */
  reset(): void {
    this.#changes.clear();
    this.#ended = 0;
  }
}
