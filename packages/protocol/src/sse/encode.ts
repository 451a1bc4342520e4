/**
 * One server-sent event. `data` is JSON on one line, so it never needs
 * splitting; `id` is what the reader sends back as `Last-Event-ID`.
 */
export function sseFrame(id: number, prefix: string, data: string, suffix: string): string {
  return `id: ${id}\ndata: ${prefix}${data}${suffix}\n\n`;
}

/** An event that is not part of the log, such as an error. */
export function sseNamedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** Tells a reader that the stream ends although its task does not, and when to come back. */
export const SSE_RECONNECT = "retry: 1000\n: the server is stopping, reconnect\n\n";

/** Keeps proxies and clients sure that the stream is alive. */
export const SSE_KEEP_ALIVE = ": keep-alive\n\n";
