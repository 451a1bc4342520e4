/** `fetch` says only "fetch failed"; the reason is in its causes. */
export function whyUnreachable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `localhost` is tried by IPv6 and IPv4; the first attempt tells as much as all.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return whyUnreachable(error.errors[0]);
  }
  return error.cause instanceof Error ? whyUnreachable(error.cause) : error.message;
}
