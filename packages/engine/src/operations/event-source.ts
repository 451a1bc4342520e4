import { type AgentEvent, isTerminal, type StatusUpdateEvent, type Task } from "@convoke/protocol";
import type { View } from "./accepted-output.ts";
import type { Seq } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";

/** Which events a streaming operation answers with. Every binding writes it in its own frames. */
export interface EventSource {
  readonly engine: Engine;
  readonly taskId: string;
  /** The task as it was held when the stream began; its memory outlives its run. */
  readonly live?: LiveTask | undefined;
  /** The snapshot that comes first, with the last sequence in it. */
  readonly opening?: { readonly task: Task; readonly seq: Seq };
  /** The log follows after this sequence. */
  readonly after: Seq;
  /** The log ends here: the task was terminal already. */
  readonly end?: Seq;
  /** How the reader wants to see events, if not as they are. */
  readonly view?: View;
  /** Whether the stream closes after the event at that place. */
  readonly closesAfter: (event: AgentEvent, seq: Seq) => boolean;
}

/** After `final: true` a stream ends, because the caller's next word is a new request. */
export function closesAtFinal(event: AgentEvent): boolean {
  if (event.kind !== "status-update") return event.kind === "message";
  return (event as StatusUpdateEvent).final;
}

/** A subscription in 1.0 outlives questions to the caller (1.0 §3.1.6). */
export function closesAtTerminal(event: AgentEvent): boolean {
  if (event.kind !== "status-update") return event.kind === "message";
  return isTerminal((event as StatusUpdateEvent).status.state);
}

/** How far a log reaches: what follows a cursor from `oldest` to `head` is all there. */
export interface Reach {
  readonly oldest: Seq;
  readonly head: Seq;
}

/** The sequence a cursor means, or nothing when it is none of this log, or one that has expired. */
export function cursorOf(
  lastEventId: string | undefined,
  { oldest, head }: Reach,
): Seq | undefined {
  if (lastEventId === undefined || !/^\d{1,15}$/.test(lastEventId)) return undefined;
  const seq = Number(lastEventId);
  return seq >= oldest && seq <= head ? seq : undefined;
}

/** Tells a reader that what it has is to be replaced, because its cursor does not lead here. */
export function asReset(task: Task): Task {
  return { ...task, metadata: { ...task.metadata, resumption: "reset" } };
}
