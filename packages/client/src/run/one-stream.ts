import { ClientError, type StreamItem } from "@convoke/protocol";
import { Silence } from "./silence.ts";

export interface OneStreamOptions {
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
export async function* oneStream(
  options: OneStreamOptions,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  options.signal.throwIfAborted();
  const own = new AbortController();
  const { signal } = own;
  // By hand: what `AbortSignal.any` makes is kept until a major collection, and with it all that was read.
  const abort = (): void => own.abort(options.signal.reason);
  options.signal.addEventListener("abort", abort);
  const silence = new Silence({
    silenceMs: options.silenceMs,
    onDead: (silentMs) => own.abort(silent(silentMs)),
    isDead: () => options.hasMoved(signal),
  });
  const batches = options.open(signal);
  try {
    for (;;) {
      silence.listen();
      const { done, value } = await batches.next();
      if (done === true) return;
      silence.hear(value.some(({ kind }) => kind === "event") ? "event" : "alive");
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
