/** Of so many tasks that wait, what was told of them is remembered. */
const MOST = 256;

interface Resting {
  /** Keeps nothing of its task in memory. */
  forget(): void;
}

/**
 * Couriers whose tasks wait for an answer, which may take long. Those that rested last remember
 * their task, so that the next turn costs the same after many turns (G9); of the others it is read again.
 */
export class RestingCouriers {
  readonly #couriers = new Set<Resting>();

  add(courier: Resting): void {
    this.#couriers.delete(courier);
    this.#couriers.add(courier);
    if (this.#couriers.size <= MOST) return;
    const [longest] = this.#couriers;
    this.#couriers.delete(longest!);
    longest!.forget();
  }

  delete(courier: Resting): void {
    this.#couriers.delete(courier);
  }
}
