import type {
  Backend,
  CommitResult,
  CommitStep,
  MailboxEntry,
  Seq,
  StoredEvent,
} from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import { SharedMemory } from "./shared-memory.ts";

/** Everything that was stored at one time. */
interface StorageState {
  readonly steps: number;
  readonly runBy: ReadonlyMap<string, number>;
  readonly mailbox: ReadonlyMap<string, MailboxEntry[]>;
}

/**
 * A storage that several engines of a test share, and that can lose its newest commits, like a
 * database in a failover to a standby that was behind.
 */
export class LossyMemory extends SharedMemory {
  override readonly inner = new LossyBackend();

  state(): StorageState {
    const { steps } = this.inner;
    return { steps: steps.length, runBy: new Map(this.runBy), mailbox: new Map(this.mailbox) };
  }

  /** Loses everything after a time. Processes whose tasks have shorter logs notice it by themselves. */
  async loseSince({ steps, runBy, mailbox }: StorageState): Promise<void> {
    const lost = new Set(this.inner.steps.slice(steps).map(({ taskId }) => taskId));
    const workers = new Map(this.runBy);
    await this.inner.loseAfter(steps);
    restore(this.runBy, runBy);
    restore(this.mailbox, mailbox);
    for (const taskId of lost) this.replicas[(workers.get(taskId) ?? 0) - 1]?.lose(taskId);
  }
}

function restore<V>(map: Map<string, V>, before: ReadonlyMap<string, V>): void {
  map.clear();
  for (const [key, value] of before) map.set(key, value);
}

/** A storage in memory that knows the epoch of each event. */
class LossyBackend implements Backend {
  #memory = createMemoryBackend();
  #epochs = new Map<string, number[]>();
  #steps: CommitStep[] = [];

  /** All steps that were written. */
  get steps(): readonly CommitStep[] {
    return this.#steps;
  }

  async loseAfter(count: number): Promise<void> {
    const kept = this.#steps.slice(0, count);
    this.#memory = createMemoryBackend();
    this.#epochs = new Map();
    this.#steps = [];
    for (const step of kept) await this.commit(step);
  }

  async commit(step: CommitStep): Promise<CommitResult> {
    const result = await this.#memory.commit(step);
    if (result.kind !== "committed") return result;
    const epochs = this.#epochs.get(step.taskId) ?? [];
    // Not if it is a repetition, which writes nothing.
    while (epochs.length < result.head) epochs.push(step.epoch);
    this.#epochs.set(step.taskId, epochs);
    this.#steps.push(step);
    return result;
  }

  async read(taskId: string, after: Seq, limit: number): Promise<readonly StoredEvent[]> {
    const page = await this.#memory.read(taskId, after, limit);
    const epochs = this.#epochs.get(taskId) ?? [];
    return page.map((event) => ({ ...event, epoch: epochs[event.seq - 1]! }));
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#memory.watch(taskId, wake);
  }

  get tasks(): Backend["tasks"] {
    return this.#memory.tasks;
  }

  get pushes(): Backend["pushes"] {
    return this.#memory.pushes;
  }

  get retention(): Backend["retention"] {
    return this.#memory.retention;
  }

  close(): Promise<void> {
    return this.#memory.close();
  }
}
