import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  type RawCard,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
  timeoutSignal,
} from "@convoke/protocol";
import { sleep } from "../run/sleep.ts";
import { knowsMessages } from "./knows-messages.ts";
import type { RetryPolicy } from "./retry-options.ts";
import { waitBeforeRetry } from "./retry-rule.ts";

/** A connection whose calls with one answer are made again where that helps and does no harm. */
export class RetryingConnection implements Connection {
  readonly #connection: Connection;
  readonly #policy: RetryPolicy;

  constructor(connection: Connection, policy: RetryPolicy) {
    this.#connection = connection;
    this.#policy = policy;
  }

  get card(): RawCard {
    return this.#connection.card;
  }

  get speaking(): Speaking {
    return this.#connection.speaking;
  }

  async call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options: CallOptions = {},
  ): Promise<Calls[Name]["result"]> {
    const { signal } = options;
    for (let count = 1; ; count += 1) {
      try {
        return await this.#once(operation, request, options);
      } catch (error) {
        signal?.throwIfAborted();
        const waitMs = waitBeforeRetry({
          operation,
          error,
          count,
          policy: this.#policy,
          knowsMessages: knowsMessages(this.card),
        });
        if (waitMs === undefined) throw error;
        await sleep(waitMs, signal ?? new AbortController().signal);
      }
    }
  }

  async #once<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    const { signal } = options;
    // An agent may work on a message for hours.
    if (operation === "sendMessage") return this.#connection.call(operation, request, options);
    const { timeoutMs } = this.#policy;
    const timeout = timeoutSignal(timeoutMs);
    const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      return await this.#connection.call(operation, request, { ...options, signal: both });
    } catch (error) {
      if (!timeout.aborted || signal?.aborted === true) throw error;
      const { url } = this.speaking;
      throw new ClientError("unreachable", `${url} did not answer within ${timeoutMs} ms`);
    }
  }

  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    return this.#connection.stream(operation, request, options);
  }

  close(): void {
    this.#connection.close();
  }
}
