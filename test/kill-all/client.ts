import { setTimeout as sleep } from "node:timers/promises";
import { Caller, type Directory } from "../harness/caller.ts";
import type { Job } from "./jobs.ts";

/** The client of one job, and what it observed. */
export class Client {
  readonly job: Job;
  readonly caller: Caller;
  /** How many messages it sent to the task after the first one. */
  answers = 0;
  cancels = 0;

  constructor(directory: Directory, messageId: string, job: Job) {
    this.job = job;
    this.caller = new Caller(directory, messageId, JSON.stringify(job));
  }

  /** Follows the job to its end. `phase` resolves when the test has reached that phase. */
  async run(phase: (wanted: number) => Promise<void>): Promise<void> {
    if (this.job.kind === "cancel") return this.#runAndCancel(phase);
    const state = await this.caller.follow();
    if (state !== "input-required") return;
    this.answers++;
    await Promise.all([this.caller.answer(this.caller.taskId!, "yes"), this.caller.follow()]);
  }

  async #runAndCancel(phase: (wanted: number) => Promise<void>): Promise<void> {
    let isOver = false;
    const followed = this.caller.follow().finally(() => {
      isOver = true;
    });
    await phase(this.job.until);
    while (this.caller.taskId === undefined) await sleep(20);
    if (!isOver) {
      this.cancels++;
      await this.caller.cancel(this.caller.taskId);
    }
    await followed;
  }
}
