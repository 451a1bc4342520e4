import { type Task, isTerminal, textOf } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../kill-all/client.ts";

/** How long it waits between two reads. */
const PAUSE_MS = 200;

/**
 * Reads the task of a client again and again, each time at any server, and compares it with what the
 * client had been shown before: a server must not show an older task than another one did.
 */
export class Witness {
  readonly problems: string[] = [];
  reads = 0;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Runs the client to its end, and reads meanwhile. */
  async run(phase: (wanted: number) => Promise<void>): Promise<void> {
    const { caller, job } = this.#client;
    let isOver = false;
    const ended = this.#client.run(phase).finally(() => {
      isOver = true;
    });
    ended.catch(() => undefined);
    while (!isOver) {
      if (caller.taskId !== undefined) await this.#read(caller.taskId);
      await Promise.race([ended.catch(() => undefined), sleep(PAUSE_MS)]);
    }
    await ended;
    const last = await this.#read(caller.taskId!);
    if (job.kind === "cancel" && last.status.state !== "canceled") {
      this.problems.push(`after an acknowledged cancel it is ${last.status.state}`);
    }
  }

  async #read(taskId: string): Promise<Task> {
    const { caller, job } = this.#client;
    const shown = caller.task;
    const read = await caller.get(taskId);
    this.reads += 1;
    // A task without a journal may have started over, which replaces its text.
    if (isOlder(read, shown) || (job.kind !== "plain" && !says(read).startsWith(says(shown)))) {
      const [was, is] = [shown, read].map((task) => `${task.status.state} "${says(task)}"`);
      this.problems.push(`a server shows ${is} after another one has shown ${was}`);
    }
    return read;
  }
}

function isOlder({ status: read }: Task, { status: shown }: Task): boolean {
  if (isTerminal(shown.state)) return read.state !== shown.state;
  return Date.parse(read.timestamp ?? "") < Date.parse(shown.timestamp ?? "");
}

function says(task: Task): string {
  return task.artifacts === undefined ? "" : textOf(task);
}
