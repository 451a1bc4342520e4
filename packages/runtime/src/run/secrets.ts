/** Shorter values would match unrelated text. */
const MIN_LENGTH = 4;
const HIDDEN = "[hidden]";

/**
 * The sensitive answers of one run. They are kept only here and in the tools that asked for them;
 * if a tool repeats one, it is masked before anything is written.
 */
export class Secrets {
  readonly #values = new Set<string>();

  add(value: string): void {
    if (value.length >= MIN_LENGTH) this.#values.add(value);
  }

  /** Returns the value with all secrets masked, or the value itself if it contains none. */
  hide<T>(value: T): T {
    if (this.#values.size === 0 || value === undefined) return value;
    const json = JSON.stringify(value);
    let hidden = json;
    for (const secret of this.#values) {
      // Compare with the escaped form, as it appears inside a JSON string.
      hidden = hidden.replaceAll(JSON.stringify(secret).slice(1, -1), HIDDEN);
    }
    return hidden === json ? value : (JSON.parse(hidden) as T);
  }
}
