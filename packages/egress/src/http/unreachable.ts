import { ClientError } from "@convoke/protocol";

/** With these no connection came about, so nothing can have arrived. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** `fetch` says only "fetch failed"; the reason is in its causes. */
export function unreachable(what: string, error: unknown): ClientError {
  const { message, code = "" } = deepest(error);
  const sent = NOT_SENT.has(code) ? false : undefined;
  return new ClientError("unreachable", `${what}: ${message}`, { cause: error, sent });
}

function deepest(error: unknown): { readonly message: string; readonly code?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  // `localhost` is tried by IPv6 and IPv4; the first attempt tells as much as all.
  if (error instanceof AggregateError && error.errors.length > 0) return deepest(error.errors[0]);
  return error.cause instanceof Error ? deepest(error.cause) : error;
}
