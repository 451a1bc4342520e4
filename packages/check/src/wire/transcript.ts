import type { Exchange } from "../verdict.ts";
import { readable } from "./readable.ts";

/** Keeps the last thing that was said, so that a failure can show it, also one that nobody foresaw. */
export class Transcript {
  #last: Exchange = { sent: "nothing", received: "nothing" };

  get last(): Exchange {
    return this.#last;
  }

  /** Something was sent; nothing has come yet. */
  said(sent: string): void {
    this.#last = { sent: readable(sent), received: "nothing" };
  }

  /** Something came. */
  heard(received: string): Exchange {
    this.#last = { ...this.#last, received: readable(received) };
    return this.#last;
  }
}
