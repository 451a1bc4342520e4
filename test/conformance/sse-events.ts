import { SseDecoder, type SseEvent } from "@convoke/protocol";

/** The server-sent events of an answer. Whoever stops reading hangs up. */
export async function* sseEvents(answer: Response): AsyncGenerator<SseEvent, void> {
  const decoder = new SseDecoder();
  if (answer.body === null) return;
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    yield* decoder.push(piece);
  }
}

/** Whether an answer is a stream of events. */
export function isSse(answer: Response): boolean {
  return answer.headers.get("content-type") === "text/event-stream";
}
