/**
 * Wraps an iterable so that it stops when the signal fires, even during a pending read. A source
 * that ignores its signal is abandoned, and its late values are dropped. There is one listener for
 * the whole stream, because a race per value would keep all values in memory.
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
    // Not awaited: a generator that hangs ends when its own signal lets it.
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
