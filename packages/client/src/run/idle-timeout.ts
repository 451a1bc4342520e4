import { ClientError, type StreamItem } from "@convoke/protocol";
import { MAX_TIMER_MS } from "@convoke/protocol/internal";

export interface ReadStreamOptions {
  readonly open: (signal: AbortSignal) => AsyncGenerator<readonly StreamItem[], void, undefined>;
  readonly signal: AbortSignal | undefined;
  readonly idleTimeoutMs: number;
  /** Whether the task progressed without the stream showing it. */
  readonly hasMoved: (signal: AbortSignal) => Promise<boolean>;
}

/** The reason that a left stream is aborted with. It is never shown, so one object without a stack of its own is enough. */
const LEFT = new Error("the stream is no longer read");

/**
 * The items of one connection, until it ends, breaks or was idle for too long. Leaving the loop
 * closes the connection, even while it waits for the next item.
 */
export async function* readStream(
  options: ReadStreamOptions,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  options.signal?.throwIfAborted();
  const own = new AbortController();
  const { signal } = own;
  const batches = options.open(signal);
  // Not `AbortSignal.any`: its signals, and everything read with them, stay in memory until a major collection.
  const abort = (): void => own.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", abort);
  const idle = new IdleTimeout({
    idleTimeoutMs: options.idleTimeoutMs,
    onDead: (idleMs) => own.abort(idleError(idleMs)),
    isDead: () => options.hasMoved(signal),
  });
  try {
    for (;;) {
      idle.startWaiting();
      const { done, value } = await batches.next();
      if (done === true) return;
      idle.received(value.some(({ kind }) => kind === "event") ? "event" : "alive");
      yield value;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    idle.stop();
    // Return before aborting: a connection whose response was read completely can be reused.
    await batches.return().catch(() => undefined);
    options.signal?.removeEventListener("abort", abort);
    own.abort(LEFT);
  }
}

function idleError(idleMs: number): ClientError {
  const seconds = Math.round(idleMs / 1000);
  return new ClientError("unreachable", `nothing came for ${seconds} s, not even a keep-alive`);
}

/** A shorter gap is the rest of a long event, not the interval between keep-alives. */
const SHORTEST_KEEP_ALIVE_MS = 1000;

/** How many keep-alives may be missing before the stream counts as dead. */
const MISSING_KEEP_ALIVES = 3;

/** For an agent that sends no keep-alives the limit is longer by this factor. */
const WITHOUT_KEEP_ALIVES = 4 / 3;

export interface IdleTimeoutOptions {
  /** The shortest idle time that counts. */
  readonly idleTimeoutMs: number;
  /** The stream is dead: its keep-alives stopped, or `isDead` said so. */
  readonly onDead: (idleMs: number) => void;
  /** Called if the agent sends no keep-alives, so that silence proves nothing. */
  readonly isDead: () => Promise<boolean>;
}

/**
 * Detects a stream that died without being closed, for example behind a proxy that dropped it. Only
 * time during which the reader waits counts. One timer serves the whole stream, so that an event
 * costs no more than reading the clock.
 */
export class IdleTimeout {
  readonly #options: IdleTimeoutOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waitingSince: number | undefined;
  #longestGapMs = 0;
  #isStopped = false;

  constructor(options: IdleTimeoutOptions) {
    this.#options = options;
  }

  /** The reader waits for the next item from now on. */
  startWaiting(): void {
    this.#waitingSince = performance.now();
    if (this.#timer === undefined) this.#wakeIn(this.#limitMs);
  }

  received(kind: "event" | "alive"): void {
    const gapMs = this.#idleMs;
    this.#waitingSince = undefined;
    if (kind !== "alive" || gapMs < SHORTEST_KEEP_ALIVE_MS || gapMs <= this.#longestGapMs) return;
    this.#longestGapMs = gapMs;
    // The limit has changed, so the timer starts again with the next wait.
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  get #idleMs(): number {
    return this.#waitingSince === undefined ? 0 : performance.now() - this.#waitingSince;
  }

  get #hasKeepAlives(): boolean {
    return this.#longestGapMs > 0;
  }

  get #limitMs(): number {
    const { idleTimeoutMs } = this.#options;
    return this.#hasKeepAlives
      ? Math.max(idleTimeoutMs, MISSING_KEEP_ALIVES * this.#longestGapMs)
      : idleTimeoutMs * WITHOUT_KEEP_ALIVES;
  }

  #wakeIn(ms: number): void {
    if (this.#isStopped) return;
    // A timer that fires too early only checks again.
    this.#timer = setTimeout(() => void this.#check(), Math.min(ms, MAX_TIMER_MS));
  }

  async #check(): Promise<void> {
    const left = this.#limitMs - this.#idleMs;
    if (left > 1) return this.#wakeIn(left);
    const { onDead, isDead } = this.#options;
    if (this.#hasKeepAlives) return onDead(this.#idleMs);
    const since = this.#waitingSince;
    const idleMs = this.#idleMs;
    const dead = await isDead();
    if (this.#isStopped) return;
    if (dead && this.#waitingSince === since) return onDead(idleMs);
    // Ask again only after another full interval.
    if (this.#waitingSince === since && since !== undefined) this.#waitingSince = performance.now();
    this.#wakeIn(this.#limitMs);
  }
}
