import type { Receiver } from "../crash/receiver.ts";

/** How far the test has come: the number of kills so far. Tasks hear of it from the receiver. */
export class Phases {
  readonly #receiver: Receiver;
  #phase = 0;
  #waiting: { readonly wanted: number; readonly resolve: () => void }[] = [];

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  async enter(phase: number): Promise<void> {
    this.#phase = phase;
    await this.#receiver.enter(phase);
    const due = this.#waiting.filter(({ wanted }) => wanted <= phase);
    this.#waiting = this.#waiting.filter(({ wanted }) => wanted > phase);
    for (const { resolve } of due) resolve();
  }

  /** Resolves when the test has come so far. */
  reach(wanted: number): Promise<void> {
    if (wanted <= this.#phase) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ wanted, resolve }));
  }
}
