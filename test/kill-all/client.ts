import { setTimeout as sleep } from "node:timers/promises";
import { Caller, type Directory } from "../harness/caller.ts";
import type { Job } from "./jobs.ts";

/** The client of one job, and what it observed. */
export class Client {
  readonly job: Job;
  readonly caller: Caller;
  /** The answers that were accepted; of several to one question, one must be. */
  readonly accepted: string[] = [];
  /** How the others were refused. */
  readonly refusals: string[] = [];
  cancels = 0;
  readonly #answers: readonly string[];

  /** @param answers what it answers to a question, all at the same time */
  constructor(directory: Directory, messageId: string, job: Job, answers = ["yes"]) {
    this.job = job;
    this.caller = new Caller(directory, messageId, JSON.stringify(job));
    this.#answers = answers;
  }

  /** Follows the job to its end. `phase` resolves when the test has reached that phase. */
  async run(phase: (wanted: number) => Promise<void>): Promise<void> {
    if (this.job.kind === "cancel") return this.#runAndCancel(phase);
    const state = await this.caller.follow();
    if (state !== "input-required") return;
    await Promise.all([...this.#answers.map((text) => this.#answer(text)), this.caller.follow()]);
  }

  async #answer(text: string): Promise<void> {
    try {
      await this.caller.answer(this.caller.taskId!, text, text);
      this.accepted.push(text);
    } catch (error) {
      if (this.#answers.length === 1) throw error;
      this.refusals.push(String(error));
    }
  }

  async #runAndCancel(phase: (wanted: number) => Promise<void>): Promise<void> {
    let isOver = false;
    const followed = this.caller.follow().finally(() => {
      isOver = true;
    });
    followed.catch(() => undefined);
    await phase(this.job.until);
    while (this.caller.taskId === undefined) await sleep(20);
    if (!isOver) {
      this.cancels++;
      await this.caller.cancel(this.caller.taskId);
    }
    await followed;
  }
}
