import { ClientError } from "@convoke/protocol";
import type { HttpAnswer } from "./http-client.ts";
import { unreachable } from "./unreachable.ts";

/** More than any card or answer of a sane agent; what lies beyond is not read. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The whole text of an answer. */
export async function readText(
  { url, body }: Pick<HttpAnswer, "url" | "body">,
  signal: AbortSignal | undefined,
  maxBytes: number = MAX_BYTES,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > maxBytes) break;
      text += decoder.decode(piece, { stream: true });
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ClientError) throw error;
    throw unreachable(`the connection to ${url} was lost`, error);
  }
  if (size <= maxBytes) return text + decoder.decode();
  throw new ClientError("unreadable", `the answer of ${url} is larger than ${maxBytes} bytes`);
}
