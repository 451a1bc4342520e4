import { signal } from "@preact/signals";
import type { TaskState } from "@convoke/protocol";
import { followEvents } from "./event-source.ts";

/** A task that has a new status. */
export interface TaskChange {
  readonly id: string;
  readonly state: TaskState;
  readonly head: number;
}

/** What the page knows about its connection to the server. */
export type ConnectionState = "connecting" | "open" | "lost";

export const connection = signal<ConnectionState>("connecting");

type Listener = (change: TaskChange | "reload") => void;

const listeners = new Set<Listener>();

/** Calls back after each change of a task, and with "reload" when changes may have been missed. */
export function onTaskChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows the changes of all tasks until the signal is aborted. All pages share this connection. */
export async function followFeed(signal: AbortSignal): Promise<void> {
  const tell = (change: TaskChange | "reload"): void => {
    for (const listener of listeners) listener(change);
  };
  await followEvents("/convoke/feed?agent=*", {
    signal,
    onConnection: (isOpen) => {
      const wasLost = connection.value === "lost";
      connection.value = isOpen ? "open" : "lost";
      if (isOpen && wasLost) tell("reload");
    },
    onEvent: ({ event, data }) => {
      tell(event === "reload" ? "reload" : (JSON.parse(data) as TaskChange));
    },
  });
}
