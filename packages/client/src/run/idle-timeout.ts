import { ClientError, type StreamItem } from "@convoke/protocol";
import { MAX_TIMER_MS } from "@convoke/protocol/internal";

/** Anything shorter is the next piece of a long event, and not a keep-alive. */
const SHORTEST_KEEP_ALIVE_MS = 1000;

/** How many keep-alives may be missing. */
const MISSING = 3;

/** An agent without keep-alives is asked after a while that is longer by this. */
const WITHOUT_KEEP_ALIVES = 4 / 3;

export interface ReadStreamOptions {
  readonly open: (signal: AbortSignal) => AsyncGenerator<readonly StreamItem[], void, undefined>;
  readonly signal: AbortSignal;
  readonly silenceMs: number;
  /** Whether the task went on without the stream. */
  readonly hasMoved: (signal: AbortSignal) => Promise<boolean>;
}

/** Nobody hears of it, so it need not tell from where it comes. */
const LEFT = new Error("the stream is not read any more");

/**
 * What one connection brings, until it ends, breaks or has died of silence.
 * Leaving the loop closes it, also while it waits for what comes next.
 */
export async function* readStream(
  options: ReadStreamOptions,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  options.signal.throwIfAborted();
  const own = new AbortController();
  const { signal } = own;
  // By hand: what `AbortSignal.any` makes is kept until a major collection, and with it all that was read.
  const abort = (): void => own.abort(options.signal.reason);
  options.signal.addEventListener("abort", abort);
  const silence = new IdleTimeout({
    silenceMs: options.silenceMs,
    onDead: (silentMs) => own.abort(silent(silentMs)),
    isDead: () => options.hasMoved(signal),
  });
  const batches = options.open(signal);
  try {
    for (;;) {
      silence.startWaiting();
      const { done, value } = await batches.next();
      if (done === true) return;
      silence.received(value.some(({ kind }) => kind === "event") ? "event" : "alive");
      yield value;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    silence.stop();
    // First, because a connection whose answer is all there can be used again.
    await batches.return().catch(() => undefined);
    options.signal.removeEventListener("abort", abort);
    own.abort(LEFT);
  }
}

function silent(silentMs: number): ClientError {
  const seconds = Math.round(silentMs / 1000);
  return new ClientError("unreachable", `nothing came for ${seconds} s, not even a keep-alive`);
}

interface IdleTimeoutOptions {
  /** The shortest silence that means anything. */
  readonly silenceMs: number;
  /** The stream is dead, because keep-alives are missing. */
  readonly onDead: (silentMs: number) => void;
  /** Nobody can tell; resolves to whether the stream is dead. */
  readonly isDead: () => Promise<boolean>;
}

/**
 * Notices when a stream has died without a word, as behind a proxy that forgot
 * it. Only the time in which somebody waits for the stream counts. One timer
 * serves the whole stream, so that an event costs no more than a look at the clock.
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

  /** Somebody waits for the stream from now on. */
  startWaiting(): void {
    this.#waitingSince = performance.now();
    if (this.#timer === undefined) this.#wakeIn(this.#limitMs);
  }

  /** Something came. */
  received(kind: "event" | "alive"): void {
    const gapMs = this.#silentMs;
    this.#waitingSince = undefined;
    if (kind !== "alive" || gapMs < SHORTEST_KEEP_ALIVE_MS || gapMs <= this.#longestGapMs) return;
    this.#longestGapMs = gapMs;
    // From here on another time counts.
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  get #silentMs(): number {
    return this.#waitingSince === undefined ? 0 : performance.now() - this.#waitingSince;
  }

  get #hasKeepAlives(): boolean {
    return this.#longestGapMs > 0;
  }

  get #limitMs(): number {
    const { silenceMs } = this.#options;
    return this.#hasKeepAlives
      ? Math.max(silenceMs, MISSING * this.#longestGapMs)
      : silenceMs * WITHOUT_KEEP_ALIVES;
  }

  #wakeIn(ms: number): void {
    if (this.#isStopped) return;
    // Who looks too early looks again.
    this.#timer = setTimeout(() => void this.#look(), Math.min(ms, MAX_TIMER_MS));
  }

  async #look(): Promise<void> {
    const left = this.#limitMs - this.#silentMs;
    if (left > 1) return this.#wakeIn(left);
    const { onDead, isDead } = this.#options;
    if (this.#hasKeepAlives) return onDead(this.#silentMs);
    const since = this.#waitingSince;
    const silentMs = this.#silentMs;
    const dead = await isDead();
    if (this.#isStopped) return;
    if (dead && this.#waitingSince === since) return onDead(silentMs);
    // It is asked again only after as long a silence.
    if (this.#waitingSince === since && since !== undefined) this.#waitingSince = performance.now();
    this.#wakeIn(this.#limitMs);
  }
}
