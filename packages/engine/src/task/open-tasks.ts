import { A2AError } from "@convoke/protocol";

/** How many tasks of each owner have not ended. */
export class OpenTasks {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a task that an earlier process began. */
  add(owner: string): void {
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
  }

  /** Counts a task that is about to be created, or refuses it. */
  admit(owner: string): void {
    if ((this.#counts.get(owner) ?? 0) < this.#most) return this.add(owner);
    const problem = `you have ${this.#most} unfinished tasks (the limit openTasks): answer or cancel some first`;
    throw new A2AError("TooManyRequests", problem, {
      details: { limit: "openTasks", most: String(this.#most) },
    });
  }

  remove(owner: string): void {
    const count = (this.#counts.get(owner) ?? 0) - 1;
    if (count > 0) this.#counts.set(owner, count);
    else this.#counts.delete(owner);
  }
}
