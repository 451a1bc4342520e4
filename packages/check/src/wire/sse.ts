import { SseDecoder, type SseEvent } from "@convoke/protocol";
import type { OpenReply } from "./http.ts";

/** Whether an answer is a stream of events. */
export function isSse({ headers }: Pick<OpenReply, "headers">): boolean {
  return (headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
}

/** The server-sent events of an answer. */
export async function* sseEvents({ pieces }: OpenReply): AsyncGenerator<SseEvent, void> {
  const decoder = new SseDecoder();
  for await (const piece of pieces) yield* decoder.push(piece);
}
