/** Shorter ones would be found everywhere. */
const MIN_LENGTH = 4;
const HIDDEN = "[hidden]";

/**
 * Sensitive answers of one run. They live here and in the tools that asked, and
 * where a tool repeats one, it is hidden before anything is written.
 */
export class Secrets {
  readonly #values = new Set<string>();

  add(value: string): void {
    if (value.length >= MIN_LENGTH) this.#values.add(value);
  }

  /** The value without secrets; itself where there are none. */
  hide<T>(value: T): T {
    if (this.#values.size === 0 || value === undefined) return value;
    const json = JSON.stringify(value);
    let hidden = json;
    for (const secret of this.#values) {
      // As it stands inside a JSON string.
      hidden = hidden.replaceAll(JSON.stringify(secret).slice(1, -1), HIDDEN);
    }
    return hidden === json ? value : (JSON.parse(hidden) as T);
  }
}
