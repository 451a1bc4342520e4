import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { EgressError } from "../policy/egress-error.ts";

export interface DeadlineOptions {
  /** The host that the error names. */
  readonly host: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Rejects when the time is over or the caller aborts, even if the work cannot be stopped (a DNS
 * lookup); everything else sees the signal.
 */
export async function withDeadline<T>(
  { host, timeoutMs, signal }: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw new TypeError(`timeoutMs is ${timeoutMs}; give milliseconds from 1 to ${MAX_TIMER_MS}`);
  }
  signal?.throwIfAborted();

  const controller = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason as Error));
  });
  const expire = () =>
    controller.abort(
      new EgressError("timeout", `"${host}" did not answer within ${timeoutMs} milliseconds`),
    );
  const leave = () => controller.abort(signal?.reason);
  const timer = setTimeout(expire, timeoutMs);
  signal?.addEventListener("abort", leave);
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
  }
}
