import { SseDecoder, type SseEvent } from "@convoke/protocol";
import { ServerProblem, request } from "./session.ts";

export interface EventSourceOptions {
  /** Where to resume, if a connection is lost. */
  readonly lastEventId?: string;
  readonly signal: AbortSignal;
  /** Receives each event. */
  readonly onEvent: (event: SseEvent) => void;
  /** Called when the connection is open or lost. */
  readonly onConnection?: (isOpen: boolean) => void;
}

const RETRY_MS = [500, 1000, 2000, 5000];

/**
 * Reads server-sent events until the server ends them for good or the signal is aborted. Reconnects
 * after a lost connection, with the id of the last event. `EventSource` cannot send a token.
 */
export async function followEvents(path: string, options: EventSourceOptions): Promise<void> {
  const { signal, onConnection } = options;
  let { lastEventId } = options;
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const response = await request(path, {
        signal,
        headers: {
          accept: "text/event-stream",
          ...(lastEventId && { "last-event-id": lastEventId }),
        },
      });
      // 204 tells clients to stop reconnecting.
      if (response.status === 204) return;
      onConnection?.(true);
      failures = 0;
      await readEvents(response, (event) => {
        lastEventId = event.id || lastEventId;
        options.onEvent(event);
      });
    } catch (problem) {
      if (signal.aborted) return;
      if (problem instanceof ServerProblem && isForGood(problem)) throw problem;
    }
    onConnection?.(false);
    await wait(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, signal);
  }
}

function isForGood({ status }: ServerProblem): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

/** Reads server-sent events until the response ends. */
async function readEvents(response: Response, onEvent: (event: SseEvent) => void): Promise<void> {
  const decoder = new SseDecoder();
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    for (const event of decoder.push(next.value)) onEvent(event);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
