/** Enough to say what went wrong; more than that nobody reads. */
const MAX_BODY_BYTES = 64 * 1024;

/** The beginning of a body as text. What is too long is left unread, and its connection closed. */
export async function readBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > MAX_BODY_BYTES) break;
  }
  const bytes = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
  // As if more were to come, so that a character cut in two is left out.
  return new TextDecoder().decode(bytes, { stream: true });
}
