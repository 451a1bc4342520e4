/**
 * An iterator that stops when the signal fires, also in the middle of a wait:
 * a source that ignores its signal is left behind, and its late values are
 * dropped. One listener for the whole stream, because a race for every value
 * would keep them all.
 */
export async function* stoppable<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, unknown, undefined> {
  signal.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let waiting: PromiseWithResolvers<IteratorResult<T, unknown>> | undefined;
  const stop = (): void => waiting?.reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  let isOver = false;
  try {
    for (;;) {
      waiting = Promise.withResolvers();
      iterator.next().then(waiting.resolve, waiting.reject);
      if (signal.aborted) stop();
      const { done, value } = await waiting.promise;
      if (done === true) {
        isOver = true;
        return value;
      }
      yield value as T;
    }
  } catch (error) {
    isOver = !signal.aborted;
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    // Not waited for: a generator that hangs comes to its end when its signal lets it.
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
