/** The latest deliveries, as many as fit. The oldest makes room for a new one. */
export class DeliveryIds {
  readonly #limit: number;
  readonly #ids = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when the id is there already. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > this.#limit) {
      const [oldest] = this.#ids;
      if (oldest !== undefined) this.#ids.delete(oldest);
    }
    return true;
  }

  delete(id: string): void {
    this.#ids.delete(id);
  }
}
