import { type Task, isInterrupted, isTerminal } from "@convoke/protocol";
import type { Run } from "./run.ts";
import type { TaskWriter } from "./task-writer.ts";

/** A task that this process works on: its writer and, while an agent works, its run. */
export class LiveTask {
  readonly owner: string;
  readonly contextId: string;
  readonly writer: TaskWriter;
  /** Messages to the task that are being committed, by their id. */
  readonly accepting = new Map<string, Promise<unknown>>();
  run: Run | undefined;

  constructor(options: {
    readonly owner: string;
    readonly contextId: string;
    readonly writer: TaskWriter;
  }) {
    this.owner = options.owner;
    this.contextId = options.contextId;
    this.writer = options.writer;
  }

  get task(): Task {
    return this.writer.task;
  }

  /** Resolves when a commit makes the condition true, or at once when it is. */
  until(condition: (live: LiveTask) => boolean): Promise<void> {
    if (condition(this)) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = this.writer.onCommit(() => {
        if (!condition(this)) return;
        stop();
        resolve();
      });
    });
  }
}

/** Whether the caller has to do something, or nothing more will come. */
export function isSettled({ task }: LiveTask): boolean {
  return isTerminal(task.status.state) || isInterrupted(task.status.state);
}

/** Whether it is known that there is a task to show, or a reply instead of one. */
export function isDecided({ writer }: LiveTask): boolean {
  return writer.listed || writer.reply !== undefined;
}
