import type { IncomingMessage } from "node:http";
import { describeProblem } from "./describe-problem.ts";
import { EgressError } from "./egress-error.ts";

export interface AnswerBodyOptions {
  readonly origin: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * The pieces of an answer as they arrive. When all were read, the connection is
 * kept for later; whoever leaves before all has arrived closes it.
 */
export class AnswerBody implements AsyncIterableIterator<Uint8Array, void> {
  readonly #response: IncomingMessage;
  readonly #options: AnswerBodyOptions;
  #isOver = false;
  #error: unknown;
  #wake: () => void = () => undefined;

  constructor(response: IncomingMessage, options: AnswerBodyOptions) {
    this.#response = response;
    this.#options = options;
    response.on("readable", () => this.#wake());
    response.on("end", () => this.#finish());
    response.on("close", () => this.#finish());
    response.on("error", (error) => {
      this.#error = error;
      this.#wake();
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    for (;;) {
      this.#options.signal?.throwIfAborted();
      const piece = this.#response.read() as Uint8Array | null;
      if (piece !== null) return { done: false, value: piece };
      if (this.#error !== undefined) throw this.#lost(this.#error);
      if (this.#isOver) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    // What has arrived anyway, as the short text of a redirect has, is read to the end.
    if (this.#response.complete) await this.#readOut();
    else this.#response.destroy();
    this.#finish();
    return { done: true, value: undefined };
  }

  /** When the response is closed, its connection is free for the next request. */
  async #readOut(): Promise<void> {
    while (this.#response.read() !== null);
    if (this.#response.closed) return;
    await new Promise((resolve) => this.#response.once("close", resolve));
  }

  #finish(): void {
    this.#isOver = true;
    this.#wake();
  }

  #lost(error: unknown): EgressError {
    const message = `the connection to ${this.#options.origin} was lost: ${describeProblem(error)}`;
    return new EgressError("network", message, { cause: error, sent: true });
  }
}
