import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  LEGACY_CODECS,
  type PublicEvent,
  type Task,
  applyEvent,
  isPublic,
  textOfParts,
} from "@convoke/protocol";

/** An event and its sequence number. */
export interface LoggedEvent {
  readonly id: number;
  readonly event: AgentEvent;
}

/** The public events of a log, as a 0.3 client over JSON-RPC receives them. */
export function shownIn(log: readonly LoggedEvent[]): readonly LoggedEvent[] {
  return log.flatMap(({ id, event }) => {
    if (!isPublic(event)) return [];
    const text = LEGACY_CODECS["0.3"].eventText(event as PublicEvent, JSON.stringify(event));
    return [{ id, event: JSON.parse(text) as AgentEvent }];
  });
}

/** The task that a log produces. */
export function foldLog(log: readonly { readonly event: AgentEvent }[]): Task {
  const task = log.reduce<Task | undefined>(
    (folded, { event }) => applyEvent(folded, event),
    undefined,
  );
  if (task === undefined) throw new Error("the log is empty");
  return task;
}

/** The texts of all chunks, in order. The agents of these tests write no two equal chunks. */
export function chunksIn(events: readonly AgentEvent[]): readonly string[] {
  return events
    .filter(({ kind }) => kind === "artifact-update")
    .map((event) => textOfParts((event as ArtifactUpdateEvent).artifact.parts))
    .filter((text) => text !== "");
}
