import { type InternalEvent, NOTES } from "@convoke/protocol";
import type { Backend, Seq } from "./backend.ts";
import { readEntry } from "./log-entry.ts";

/** The turn that the event at that place ended, if it ended one. */
export async function turnEndedAt(
  backend: Backend,
  taskId: string,
  seq: Seq,
): Promise<number | undefined> {
  const [stored] = await backend.read(taskId, seq - 1, 1);
  const event = stored && readEntry(stored).event;
  return event?.kind === NOTES.turnEnd ? Number((event as InternalEvent)["turn"]) : undefined;
}
