/** What sends a request to a provider. */
export type Fetch = typeof globalThis.fetch;

class SecondRequestError extends Error {
  override readonly name = "SecondRequestError";
}

/**
 * A fetch that sends one request for each answer. Each answer has an abort
 * signal of its own, so a second request with the same signal is one that the
 * SDK wants to send by itself, such as to go on with a long answer.
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

/** Whether an error says that a second request was not sent. */
export function isSecondRequest(error: unknown): boolean {
  if (error instanceof SecondRequestError) return true;
  return error instanceof Error && error.cause !== undefined && isSecondRequest(error.cause);
}
