import {
  type CallOptions,
  type Calls,
  ClientError,
  type Connection,
  RemoteError,
} from "@convoke/protocol";
import { backoffMs, sleep, timeoutSignal } from "@convoke/protocol/internal";
import { checkAtLeast } from "../cards/discovery.ts";
import type { Interceptor } from "./interceptor.ts";
import { isConnectionLoss, wasNotProcessed } from "./loss.ts";

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
}

export interface RetryPolicy extends Required<RetryOptions> {
  /** Time limit of one attempt. */
  readonly timeoutMs: number;
}

const DEFAULTS = { attempts: 3, baseMs: 200, maxMs: 10_000 };

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
  if (options !== undefined && "sends" in options) throw sendsWasRemoved();
  const policy = { ...DEFAULTS, ...options, timeoutMs };
  checkAtLeast("retry.attempts", policy.attempts, 1);
  checkAtLeast("retry.baseMs", policy.baseMs, 0);
  checkAtLeast("retry.maxMs", policy.maxMs, 0);
  checkAtLeast("timeoutMs", policy.timeoutMs, 1);
  return policy;
}

function sendsWasRemoved(): TypeError {
  return new TypeError(
    'retry.sends was removed; pass reconnect: { resend: "always" } to send, stream or conversation instead',
  );
}

/**
 * Repeats calls with a single response where that helps and does no harm, each with a time limit.
 * Messages pass: an agent may work on one for hours, and the run that sent it decides whether to send
 * it again.
 */
export function retryCalls(
  connection: Pick<Connection, "selectedInterface">,
  policy: RetryPolicy,
): Interceptor {
  return (next) => {
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
        if (operation === "sendMessage") return next.call(operation, request, options);
        for (let attempts = 1; ; attempts += 1) {
          try {
            return await attemptInTime(operation, request, options);
          } catch (error) {
            options.signal?.throwIfAborted();
            const waitMs = waitBeforeRetry({ operation, error, attempts, policy });
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
  readonly operation: Exclude<keyof Calls, "sendMessage">;
  readonly error: unknown;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly policy: RetryPolicy;
}

/** How long to wait before the next attempt; `undefined` if the error is final. */
function waitBeforeRetry(failed: FailedAttempt): number | undefined {
  const { operation, error, attempts, policy } = failed;
  if (attempts >= policy.attempts || !isConnectionLoss(error)) return undefined;
  if (!IS_REPEATABLE[operation] && !wasNotProcessed(error)) return undefined;
  const waitMs = backoffMs(attempts, { firstMs: policy.baseMs, longestMs: policy.maxMs });
  const requestedMs = error instanceof RemoteError ? error.retryAfterMs : undefined;
  if (requestedMs === undefined) return waitMs;
  return requestedMs > policy.maxMs ? undefined : Math.max(requestedMs, waitMs);
}

/** Operations that do no harm the second time, whatever happened to the first request. */
const IS_REPEATABLE: Readonly<Record<FailedAttempt["operation"], boolean>> = {
  getTask: true,
  listTasks: true,
  getPushConfig: true,
  listPushConfigs: true,
  // In both versions it succeeds if the config is already gone.
  deletePushConfig: true,
  getExtendedCard: true,
  // If the first request canceled the task, the second one fails.
  cancelTask: false,
  // Without an id each request creates another config.
  createPushConfig: false,
};
