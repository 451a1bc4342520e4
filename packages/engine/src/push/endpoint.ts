import { type Egress, EgressError } from "@convoke/egress";
import {
  type BackoffOptions,
  MAX_TIMER_MS,
  backoffMs,
  parseRetryAfter,
} from "@convoke/protocol/internal";
import { type PublicEvent, type TraceContext, traceHeaders } from "@convoke/protocol";
import { type SpanAttributes, withSpan } from "../tracing/span.ts";
import type { Notification } from "./notification.ts";

/** The result of an attempt to deliver a notification. */
export type Outcome =
  | { readonly kind: "delivered"; readonly status?: number }
  | FailedOutcome
  /** The receiver has unsubscribed: it answered 410. */
  | { readonly kind: "gone"; readonly problem: string; readonly status?: number };

interface FailedOutcome {
  readonly kind: "failed";
  readonly problem: string;
  /** The HTTP status of the answer, if there was one. */
  readonly status?: number;
  /** The problem for the log, if the caller must not know it all. */
  readonly detail?: string;
  readonly retryAfterMs?: number;
}

/** 1.0 §4.3.3 recommends 10 to 30 s. */
const TIMEOUT_MS = 15_000;

export interface AttemptOptions {
  readonly egress: Egress;
  readonly url: string;
  readonly notification: Notification;
  readonly eventKind: PublicEvent["kind"];
  /** The trace of the task. Without it, the attempt has no span. */
  readonly trace?: TraceContext | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

/** Posts a notification once, in a span of its own if the task has a trace. */
export function attemptDelivery(options: AttemptOptions): Promise<Outcome> {
  const { url, notification, eventKind, trace: parent, signal } = options;
  if (parent === undefined) return post(options);
  const attributes = (): SpanAttributes => {
    // The rest of the URL may be a secret.
    const { hostname, port } = new URL(url);
    return {
      "http.request.method": "POST",
      "server.address": hostname,
      ...(port !== "" && { "server.port": Number(port) }),
      "a2a.push.delivery.id": notification.headers["webhook-id"],
    };
  };
  const spanOptions = { kind: "client", parent, signal, attributes } as const;
  return withSpan(`push ${eventKind}`, spanOptions, async (span) => {
    const added = span?.isRecording === true ? traceHeaders(span.trace) : {};
    const headers = { ...notification.headers, ...added };
    const outcome = await post({ ...options, notification: { ...notification, headers } });
    span?.end(outcome.kind === "delivered" ? undefined : outcome.kind);
    return outcome;
  });
}

/** Only 2xx is a success. Redirects are not followed, because they could lead anywhere. */
async function post(options: AttemptOptions): Promise<Outcome> {
  const { egress, url, notification, signal, timeoutMs = TIMEOUT_MS } = options;
  try {
    const { status, headers } = await egress.post(url, { ...notification, timeoutMs, signal });
    if (status >= 200 && status < 300) return { kind: "delivered", status };
    if (status === 410)
      return { kind: "gone", status, problem: "the receiver answered 410 (gone)" };
    const retryAfterMs = parseRetryAfter(headers["retry-after"]);
    return {
      kind: "failed",
      status,
      problem: `the receiver answered ${status}`,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  } catch (error) {
    if (!(error instanceof EgressError)) {
      return { kind: "failed", problem: "the notification was not sent" };
    }
    const { message } = error;
    if (!error.revealsNames) return { kind: "failed", problem: message };
    // Callers see the problem, and must not find out which names exist inside the network.
    const problem = `could not reach ${new URL(url).origin}: its name does not exist, or its address is not public`;
    return { kind: "failed", problem, detail: message };
  }
}

/** Wait 1 s after the first failure, then twice as long each time, up to 5 minutes. */
export const DEFAULT_BACKOFF: BackoffOptions = { firstMs: 1000, longestMs: 5 * 60_000 };

/** How many notifications are sent to one endpoint concurrently while it is healthy. */
const MAX_CONCURRENT = 8;

type Attempt = () => Promise<Outcome>;

interface QueuedAttempt {
  readonly attempt: Attempt;
  readonly settle: (outcome: Outcome) => void;
}

/**
 * A receiver of notifications, shared by all configs with its URL. While it fails,
 * one attempt at a time is made, with increasing pauses, and a failure counts for
 * all queued attempts. After a success all of them proceed.
 */
export class Endpoint {
  readonly #options: BackoffOptions;
  #queue: QueuedAttempt[] = [];
  #running = 0;
  #failures = 0;
  #pause: NodeJS.Timeout | undefined;
  #nextAt: number | undefined;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Whether there is nothing to send and no failure to remember. */
  get isIdle(): boolean {
    return this.#running === 0 && this.#queue.length === 0 && this.#failures === 0;
  }

  /** When the next attempt is made while it fails, in milliseconds since the epoch. */
  get nextAt(): number | undefined {
    return this.#pause === undefined ? undefined : this.#nextAt;
  }

  /** Whether an attempt would start immediately. */
  get isReady(): boolean {
    return (
      this.#pause === undefined && this.#running < this.#concurrency && this.#queue.length === 0
    );
  }

  get #concurrency(): number {
    return this.#failures === 0 ? MAX_CONCURRENT : 1;
  }

  /** Queues an attempt. Resolves to `undefined` if the signal fires before the attempt has settled. */
  deliver(attempt: Attempt, signal: AbortSignal): Promise<Outcome | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#queue = this.#queue.filter((other) => other !== queued);
        resolve(undefined);
      };
      const settle = (outcome: Outcome): void => {
        signal.removeEventListener("abort", leave);
        resolve(outcome);
      };
      const queued: QueuedAttempt = { attempt, settle };
      signal.addEventListener("abort", leave, { once: true });
      this.#queue.push(queued);
      this.#next();
    });
  }

  /** Forgets earlier failures, because the receiver is said to work again. */
  reset(): void {
    this.#failures = 0;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#next();
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#queue = [];
  }

  #next(): void {
    while (this.#pause === undefined && this.#running < this.#concurrency) {
      const queued = this.#queue.shift();
      if (queued === undefined) return;
      void this.#attempt(queued);
    }
  }

  async #attempt({ attempt, settle }: QueuedAttempt): Promise<void> {
    this.#running++;
    const failuresBefore = this.#failures;
    const outcome = await attempt();
    this.#running--;
    settle(outcome);
    if (outcome.kind !== "failed") return this.reset();
    // Concurrent attempts that fail together count as one failure.
    if (failuresBefore === this.#failures) this.#failed(outcome);
    this.#next();
  }

  #failed(outcome: FailedOutcome): void {
    this.#failures++;
    const wait = Math.min(
      Math.max(backoffMs(this.#failures, this.#options), outcome.retryAfterMs ?? 0),
      this.#options.longestMs,
      MAX_TIMER_MS,
    );
    clearTimeout(this.#pause);
    this.#nextAt = Date.now() + wait;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#next();
    }, wait).unref();
    const queue = this.#queue;
    this.#queue = [];
    for (const { settle } of queue) settle(outcome);
  }
}
