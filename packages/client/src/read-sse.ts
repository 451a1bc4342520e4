import { SseDecoder, type SseEvent } from "@convoke/protocol";

/** The events of a body as they arrive. Leaving the loop closes the connection. */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<SseEvent, void, undefined> {
  const decoder = new SseDecoder();
  const text = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* decoder.push(text.decode(value, { stream: true }));
    }
  } finally {
    // A body that failed or was aborted refuses to be canceled; it is closed already.
    await reader.cancel().catch(() => {});
  }
}
