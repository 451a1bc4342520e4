import {
  type AgentEvent,
  isPublic,
  isTerminal,
  type PublicEvent,
  type StreamItem,
} from "@convoke/protocol";
import type { LocalTask } from "../loop/local-task.ts";

/** A task of this process as it is, and then what happens to it, until it ends. */
export async function* localEvents(
  local: LocalTask,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly StreamItem[], void, undefined> {
  let waiting: PublicEvent[] = [local.task];
  let wake: (() => void) | undefined;
  const onAbort = (): void => wake?.();
  const stop = local.listen((event: AgentEvent) => {
    if (isPublic(event)) waiting.push(event);
    wake?.();
  });
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      const events = waiting;
      waiting = [];
      if (events.length > 0) {
        yield events.map((event) => ({ kind: "event", event, id: "" }));
        continue;
      }
      if (isTerminal(local.task.status.state)) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stop();
    signal?.removeEventListener("abort", onAbort);
  }
}
