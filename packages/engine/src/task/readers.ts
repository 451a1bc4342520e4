import { A2AError } from "@convoke/protocol";

/** How many streams are open on each task. */
export class Readers {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Refuses one more where there are too many. */
  admit(taskId: string): void {
    if ((this.#counts.get(taskId) ?? 0) < this.#most) return;
    const problem = `task ${taskId} has ${this.#most} open streams (the limit streams): close one first`;
    throw new A2AError("TooManyRequests", problem, {
      details: { limit: "streams", most: String(this.#most), taskId },
    });
  }

  /** Whether someone reads the task. */
  has(taskId: string): boolean {
    return this.#counts.has(taskId);
  }

  open(taskId: string): void {
    this.#counts.set(taskId, (this.#counts.get(taskId) ?? 0) + 1);
  }

  close(taskId: string): void {
    const count = (this.#counts.get(taskId) ?? 0) - 1;
    if (count > 0) this.#counts.set(taskId, count);
    else this.#counts.delete(taskId);
  }
}
