/** The function that sends a request to a provider. */
export type Fetch = typeof globalThis.fetch;

class SecondRequestError extends Error {
  override readonly name = "SecondRequestError";
}

/**
 * A fetch that allows one request per answer. Each answer has its own abort signal, so a second
 * request with the same signal is one that the SDK sends on its own, for example to continue a long
 * answer.
 */
export function oneRequestEach(send: Fetch): Fetch {
  const asked = new WeakSet<AbortSignal>();
  return async (input, init) => {
    const signal = init?.signal;
    if (signal) {
      if (asked.has(signal)) throw new SecondRequestError("one answer is one request");
      asked.add(signal);
    }
    return send(input, init);
  };
}

/** Whether the error was caused by blocking a second request. */
export function isSecondRequest(error: unknown): boolean {
  if (error instanceof SecondRequestError) return true;
  return error instanceof Error && error.cause !== undefined && isSecondRequest(error.cause);
}
