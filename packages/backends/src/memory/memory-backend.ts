import { isTerminal, mayFollow } from "@convoke/protocol";
import type { Backend, Committed, Seq, Step, Stored } from "@convoke/server/backend";
import { type TakenMessage, judge, notOneLine } from "../judge.ts";
import { wakeAfter } from "../wake-after.ts";
import { Watchers } from "../watchers.ts";
import { MemoryTaskIndex } from "./memory-task-index.ts";
import { type MemoryTask, createTask } from "./memory-task.ts";

/**
 * A backend that forgets everything when the process ends: for tests, and for
 * agents whose tasks need not outlive it. It keeps every promise but durability.
 */
export function createMemoryBackend(): Backend {
  return new MemoryBackend();
}

const rules = { isTerminal, mayFollow };

class MemoryBackend implements Backend {
  readonly #tasks = new Map<string, MemoryTask>();
  /** By owner and message id. */
  readonly #messages = new Map<string, Map<string, TakenMessage>>();
  readonly #watchers = new Watchers();
  readonly tasks = new MemoryTaskIndex(this.#tasks, () => this.#assertOpen());
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** Applied in a microtask, so that nobody comes to rely on a commit that is visible before it resolves. */
  commit(step: Step): Promise<Committed> {
    if (this.#closed) return Promise.reject(closedError());
    const committed = Promise.resolve().then(() => this.#apply(step));
    this.#last = committed;
    return committed;
  }

  async read(taskId: string, after: Seq, limit: number): Promise<readonly Stored[]> {
    this.#assertOpen();
    const events = this.#tasks.get(taskId)?.events ?? [];
    return events
      .slice(after, after + limit)
      .map((json, index) => ({ seq: after + index + 1, json }));
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    return this.#closed ? () => {} : this.#watchers.watch(taskId, wake);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#last.catch(() => {});
    this.#tasks.clear();
    this.#messages.clear();
    this.#watchers.clear();
  }

  #apply(step: Step): Committed {
    const stored = this.#tasks.get(step.taskId);
    const owner = step.create?.owner ?? stored?.owner;
    if (step.events.some((event) => event.includes("\n"))) throw notOneLine(step.taskId);
    const taken =
      step.message && owner !== undefined
        ? this.#messages.get(owner)?.get(step.message.messageId)
        : undefined;
    const facts = stored && {
      epoch: stored.epoch,
      head: stored.events.length,
      state: stored.state,
    };
    const refusal = judge({ step, count: step.events.length, stored: facts, taken }, rules);
    if (refusal !== undefined) return refusal;

    const task = stored ?? createTask(step);
    this.#tasks.set(step.taskId, task);
    if (step.message)
      this.#take(task.owner, step.message.messageId, {
        taskId: step.taskId,
        digest: step.message.digest,
      });
    for (const event of step.events) task.events.push(event);
    task.epoch = step.epoch;
    task.state = step.state;
    task.statusAt = step.statusAt;
    task.listed = step.listed;
    task.wakeAt = wakeAfter(step, task.wakeAt, rules);
    if (step.snapshot && step.snapshot.seq > (task.snapshot?.seq ?? 0))
      task.snapshot = step.snapshot;
    this.#watchers.wake(step.taskId, task.events.length);
    return { kind: "committed", head: task.events.length };
  }

  #take(owner: string, messageId: string, taken: TakenMessage): void {
    const messages = this.#messages.get(owner) ?? new Map<string, TakenMessage>();
    this.#messages.set(owner, messages.set(messageId, taken));
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError();
  }
}

function closedError(): Error {
  return new Error("the backend is closed");
}
