import { Skipped } from "../verdict.ts";

/**
 * What several probes need and only the first makes. Where that goes wrong, the first has failed
 * and the others could not be tried: one mistake of a server is reported once.
 */
export class Once {
  readonly #made = new Map<string, unknown>();

  async get<Value>(name: string, make: () => Promise<Value>): Promise<Value> {
    if (this.#made.has(name)) {
      const made = this.#made.get(name);
      if (made instanceof Skipped) throw made;
      return made as Value;
    }
    try {
      const value = await make();
      this.#made.set(name, value);
      return value;
    } catch (error) {
      const reason = `${name} could not be had: another probe tells why`;
      this.#made.set(name, error instanceof Skipped ? error : new Skipped(reason));
      throw error;
    }
  }
}
