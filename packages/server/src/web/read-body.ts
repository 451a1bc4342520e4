import { A2AError } from "@convoke/protocol";
import { bodyTooLarge, bodyWasTaken } from "../http/body-too-large.ts";

/** Collects a body, and stops at the limit without keeping what lies beyond. */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.bodyUsed) throw bodyWasTaken("hand on a request whose body was not used");
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    // Leaving the loop tells the sender to stop.
    for await (const chunk of request.body) {
      size += chunk.byteLength;
      if (size > maxBytes) throw bodyTooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (A2AError.is(error)) throw error;
    // The caller has left: nothing of ours is wrong, and nobody reads the answer.
    throw new A2AError("InvalidRequest", "the body was cut off", { cause: error });
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
