import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  type RawCard,
  RemoteError,
  type Speaking,
  type StreamItem,
  type StreamOptions,
  type Streams,
} from "@convoke/protocol";
import { timeoutSignal } from "@convoke/protocol/internal";
import { sleep } from "../run/sleep.ts";
import { knowsMessages } from "./knows-messages.ts";
import type { RetryPolicy } from "./retry-options.ts";

/** Whether a second time does no harm, whatever became of the first. */
const IS_REPEATABLE: Readonly<Record<keyof Calls, boolean>> = {
  getTask: true,
  listTasks: true,
  getPushConfig: true,
  listPushConfigs: true,
  // Both versions have it succeed when the config is gone already.
  deletePushConfig: true,
  getExtendedCard: true,
  sendMessage: false,
  // The second time the task may be canceled already, which is an error.
  cancelTask: false,
  // Without an id each makes a new one.
  createPushConfig: false,
};

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

interface Attempt {
  readonly operation: keyof Calls;
  readonly error: unknown;
  /** How many were made. */
  readonly count: number;
  readonly policy: RetryPolicy;
  /** Whether the agent knows a message that it has seen by its id. */
  readonly knowsMessages: boolean;
}

/** How long to wait before the call is made again; undefined when the error is the answer. */
function waitBeforeRetry(attempt: Attempt): number | undefined {
  const { error, count, policy } = attempt;
  if (count >= policy.attempts || !isWorthIt(attempt)) return undefined;
  // Anywhere in the upper half, so that those who failed together do not return together.
  const backoffMs = Math.min(policy.maxMs, policy.baseMs * 2 ** (count - 1));
  const waitMs = backoffMs * (0.5 + Math.random() / 2);
  const askedMs = error instanceof RemoteError ? error.retryAfterMs : undefined;
  if (askedMs === undefined) return waitMs;
  return askedMs > policy.maxMs ? undefined : Math.max(askedMs, waitMs);
}

function isWorthIt(attempt: Attempt): boolean {
  const { error } = attempt;
  if (error instanceof ClientError) {
    if (error.kind !== "unreachable") return false;
    return error.sent === false || mayRepeat(attempt);
  }
  if (!(error instanceof RemoteError)) return false;
  switch (error.httpStatus) {
    // Both say that nothing was done.
    case 429:
    case 503:
      return true;
    // A proxy lost the agent; what that did meanwhile nobody knows.
    case 502:
    case 504:
      return mayRepeat(attempt);
    default:
      return false;
  }
}

function mayRepeat({ operation, policy, knowsMessages }: Attempt): boolean {
  if (operation === "sendMessage") return knowsMessages || policy.sends === "always";
  return IS_REPEATABLE[operation];
}
