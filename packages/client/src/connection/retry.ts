import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  RemoteError,
} from "@convoke/protocol";
import { backoffMs, sleep, timeoutSignal } from "@convoke/protocol/internal";
import { deduplicatesMessages } from "../cards/card.ts";
import { checkAtLeast } from "../cards/discovery.ts";
import type { Interceptor } from "./interceptor.ts";

/** How calls with a single response are retried. Streams reconnect by themselves. */
export interface RetryOptions {
  /** Attempts in total; default 3. */
  readonly attempts?: number;
  /** Wait before the second attempt, in milliseconds; it doubles each time. Default 200. */
  readonly baseMs?: number;
  /**
   * Longest wait, in milliseconds; default 10 000. If the agent asks for a longer one (`Retry-After`),
   * the call fails instead.
   */
  readonly maxMs?: number;
  /**
   * What to do with a message that may have arrived. "safe", the default, resends it only to agents
   * whose card says that they deduplicate by message id; "always" resends it to any agent. The id
   * stays the same.
   */
  readonly sends?: "safe" | "always";
}

export interface RetryPolicy extends Required<RetryOptions> {
  /** Time limit of one attempt, for everything except messages. */
  readonly timeoutMs: number;
}

const DEFAULTS = { attempts: 3, baseMs: 200, maxMs: 10_000, sends: "safe" } as const;

const TIMEOUT_MS = 60_000;

/** Fills in the defaults; `retry: false` is one attempt. */
export function retryPolicy({
  retry,
  timeoutMs = TIMEOUT_MS,
}: {
  readonly retry?: RetryOptions | false | undefined;
  readonly timeoutMs?: number | undefined;
}): RetryPolicy {
  const options = retry === false ? { attempts: 1 } : retry;
  const policy = { ...DEFAULTS, ...options, timeoutMs };
  checkAtLeast("retry.attempts", policy.attempts, 1);
  checkAtLeast("retry.baseMs", policy.baseMs, 0);
  checkAtLeast("retry.maxMs", policy.maxMs, 0);
  checkAtLeast("timeoutMs", policy.timeoutMs, 1);
  return policy;
}

/** Repeats calls with a single response where that helps and does no harm, each with a time limit. */
export function retryCalls(
  connection: Pick<Connection, "card" | "selectedInterface">,
  policy: RetryPolicy,
): Interceptor {
  return (next) => {
    const attemptOnce = <Name extends keyof Calls>(
      operation: Name,
      request: Calls[Name]["request"],
      options: CallOptions,
    ): Promise<Calls[Name]["result"]> =>
      // An agent may work on a message for hours.
      operation === "sendMessage"
        ? next.call(operation, request, options)
        : attemptInTime(operation, request, options);

    const attemptInTime = async <Name extends keyof Calls>(
      operation: Name,
      request: Calls[Name]["request"],
      options: CallOptions,
    ): Promise<Calls[Name]["result"]> => {
      const { timeoutMs } = policy;
      const { signal } = options;
      const timeout = timeoutSignal(timeoutMs);
      const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      try {
        return await next.call(operation, request, { ...options, signal: both });
      } catch (error) {
        if (!timeout.aborted || signal?.aborted === true) throw error;
        const { url } = connection.selectedInterface;
        throw new ClientError("unreachable", `${url} did not answer within ${timeoutMs} ms`);
      }
    };

    return {
      async call(operation, request, options = {}) {
        for (let attempts = 1; ; attempts += 1) {
          try {
            return await attemptOnce(operation, request, options);
          } catch (error) {
            options.signal?.throwIfAborted();
            const deduplicates = deduplicatesMessages(connection.card);
            const waitMs = waitBeforeRetry({ operation, error, attempts, policy, deduplicates });
            if (waitMs === undefined) throw error;
            await sleep(waitMs, options.signal);
          }
        }
      },
      stream: (operation, request, options) => next.stream(operation, request, options),
    };
  };
}

interface FailedAttempt {
  readonly operation: keyof Calls;
  readonly error: unknown;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly policy: RetryPolicy;
  /** Whether the agent recognizes a message that it has already received. */
  readonly deduplicates: boolean;
}

/** How long to wait before the next attempt; `undefined` if the error is final. */
function waitBeforeRetry(failed: FailedAttempt): number | undefined {
  const { error, attempts, policy } = failed;
  if (attempts >= policy.attempts || !isWorthRetrying(failed)) return undefined;
  const waitMs = backoffMs(attempts, { firstMs: policy.baseMs, longestMs: policy.maxMs });
  const requestedMs = error instanceof RemoteError ? error.retryAfterMs : undefined;
  if (requestedMs === undefined) return waitMs;
  return requestedMs > policy.maxMs ? undefined : Math.max(requestedMs, waitMs);
}

function isWorthRetrying(failed: FailedAttempt): boolean {
  const { error } = failed;
  if (error instanceof ClientError) {
    if (error.kind !== "unreachable") return false;
    return error.sent === false || mayRepeat(failed);
  }
  if (!(error instanceof RemoteError)) return false;
  switch (error.httpStatus) {
    // Both mean that the request was not processed.
    case 429:
    case 503:
      return true;
    // A proxy lost the agent, which may have processed the request.
    case 502:
    case 504:
      return mayRepeat(failed);
    default:
      return false;
  }
}

/** Operations that do no harm the second time, whatever happened to the first request. */
const IS_REPEATABLE: Readonly<Record<keyof Calls, boolean>> = {
  getTask: true,
  listTasks: true,
  getPushConfig: true,
  listPushConfigs: true,
  // In both versions it succeeds if the config is already gone.
  deletePushConfig: true,
  getExtendedCard: true,
  sendMessage: false,
  // If the first request canceled the task, the second one fails.
  cancelTask: false,
  // Without an id each request creates another config.
  createPushConfig: false,
};

function mayRepeat({ operation, policy, deduplicates }: FailedAttempt): boolean {
  if (operation === "sendMessage") return deduplicates || policy.sends === "always";
  return IS_REPEATABLE[operation];
}
