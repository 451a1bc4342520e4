import type { Call, Target, WireHeaders } from "./call.ts";

/** The headers of a call. 1.0 demands the version on every request, and 0.3 knows none (1.0 §3.6.1). */
export function headersOf({ version, headers }: Target, call: Pick<Call, "headers">): WireHeaders {
  const all = {
    ...(version === "1.0" && { "a2a-version": "1.0" }),
    ...headers,
    ...call.headers,
  };
  const kept = Object.entries(all).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(kept);
}

/** The headers of an answer as a plain record. */
export function recordOf(headers: Headers): WireHeaders {
  return Object.fromEntries(headers.entries());
}
