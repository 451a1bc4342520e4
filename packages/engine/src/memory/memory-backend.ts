import { isTerminal, mayFollow } from "@convoke/protocol";
import type { Backend, Committed, Seq, Step, Stored } from "../log/backend.ts";
import { judge, notOneLine } from "../log/judge.ts";
import { wakeAfter } from "../log/wake-after.ts";
import { Watchers } from "../log/watchers.ts";
import { EndedTasks } from "./ended-tasks.ts";
import { MemoryContexts } from "./memory-contexts.ts";
import { MemoryMessages } from "./memory-messages.ts";
import { MemoryPushStore } from "./memory-push-store.ts";
import { MemoryRetentionStore } from "./memory-retention-store.ts";
import { MemoryTaskIndex } from "./memory-task-index.ts";
import { type MemoryTask, createTask, headOf, readLog } from "./memory-task.ts";
import { WhileOpen } from "./while-open.ts";

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
