import { inspect } from "node:util";

/** Shorter values would match unrelated text. */
const MIN_LENGTH = 4;
const HIDDEN = "[hidden]";

/**
 * The sensitive answers of one run. They are kept only here and in the tools that asked for them;
 * if a tool repeats one, it is masked before anything is written.
 */
export class Secrets {
  #values: Set<string> | undefined;

  add(value: string): void {
    if (value.length >= MIN_LENGTH) (this.#values ??= new Set()).add(value);
  }

  /** Adds all texts in a value, whatever its form. */
  addAll(value: unknown): void {
    if (typeof value === "string") this.add(value);
    else if (typeof value === "object" && value !== null) {
      for (const inner of Object.values(value)) this.addAll(inner);
    }
  }

  /** An error that can be logged: itself, unless it contains a secret anywhere, also in its cause. */
  hideError(error: unknown): unknown {
    if (this.#values === undefined) return error;
    const details = inspect(error, { depth: 5 });
    if (this.hide(details) === details) return error;
    return new Error(this.hide(error instanceof Error ? error.message : String(error)));
  }

  /** Returns the value with all secrets masked, or the value itself if it contains none. */
  hide<T>(value: T): T {
    if (this.#values === undefined || value === undefined) return value;
    const json = JSON.stringify(value);
    let hidden = json;
    for (const secret of this.#values) {
      // Compare with the escaped form, as it appears inside a JSON string.
      hidden = hidden.replaceAll(JSON.stringify(secret).slice(1, -1), HIDDEN);
    }
    return hidden === json ? value : (JSON.parse(hidden) as T);
  }
}
