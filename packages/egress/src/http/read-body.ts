import { ClientError } from "@convoke/protocol";
import type { HttpAnswer } from "./http-client.ts";

/** More than any card or response of a sane agent needs; the rest is not read. */
const MAX_BYTES = 64 * 1024 * 1024;

const UTF8 = new TextDecoder();

/** Reads the whole body of a response as text. */
export async function readText(
  { url, body }: Pick<HttpAnswer, "url" | "body">,
  signal: AbortSignal | undefined,
  maxBytes: number = MAX_BYTES,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > maxBytes) break;
      pieces.push(piece);
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ClientError) throw error;
    throw unreachable(`the connection to ${url} was lost`, error);
  }
  if (size <= maxBytes) return decode(pieces);
  throw new ClientError("unreadable", `the response from ${url} is larger than ${maxBytes} bytes`);
}

function decode(pieces: readonly Uint8Array[]): string {
  const [first] = pieces;
  // A decoder for the stream is needed only if a character may be cut in two.
  if (pieces.length <= 1) return UTF8.decode(first);
  const decoder = new TextDecoder();
  const texts = pieces.map((piece) => decoder.decode(piece, { stream: true }));
  return texts.join("") + decoder.decode();
}

/** With these codes no connection was established, so nothing can have arrived. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** An "unreachable" error with the root cause: `fetch` itself says only "fetch failed". */
export function unreachable(what: string, error: unknown): ClientError {
  const { message, code = "" } = rootCause(error);
  const sent = NOT_SENT.has(code) ? false : undefined;
  return new ClientError("unreachable", `${what}: ${message}`, { cause: error, sent });
}

function rootCause(error: unknown): { readonly message: string; readonly code?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  // `localhost` is tried with IPv6 and IPv4; the first failure says enough.
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0]);
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}
