import {
  type A2APart,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  textPart,
} from "@convoke/protocol";
import { accepts } from "./media-types.ts";

/** An event as one caller wants to see it. */
export type View = <Event extends AgentEvent>(event: Event) => Event;

/**
 * What a caller sees that does not take data: the same, with each data part as
 * the text of its JSON. Nothing where the caller takes everything.
 */
export function outputView(modes: readonly string[] | undefined): View | undefined {
  if (modes === undefined || modes.length === 0 || accepts(modes, "application/json")) {
    return undefined;
  }
  return (event) => viewOf(event) as typeof event;
}

function viewOf(event: AgentEvent): AgentEvent {
  switch (event.kind) {
    case "task":
      return taskView(event as Task);
    case "message":
      return messageView(event as Message);
    case "status-update": {
      const { status, ...rest } = event as StatusUpdateEvent;
      return { ...rest, status: statusView(status) } as StatusUpdateEvent;
    }
    case "artifact-update": {
      const { artifact, ...rest } = event as ArtifactUpdateEvent;
      return { ...rest, artifact: withTexts(artifact) } as ArtifactUpdateEvent;
    }
    default:
      return event;
  }
}

function taskView(task: Task): Task {
  const { status, history, artifacts } = task;
  return {
    ...task,
    status: statusView(status),
    ...(history && { history: history.map(messageView) }),
    ...(artifacts && { artifacts: artifacts.map(withTexts) }),
  };
}

function statusView(status: Task["status"]): Task["status"] {
  return status.message === undefined
    ? status
    : { ...status, message: messageView(status.message) };
}

function messageView(message: Message): Message {
  return message.role === "agent" ? withTexts(message) : message;
}

function withTexts<T extends { readonly parts: readonly A2APart[] }>(carrier: T): T {
  if (carrier.parts.every(({ kind }) => kind !== "data")) return carrier;
  return { ...carrier, parts: carrier.parts.map(asText) };
}

function asText(part: A2APart): A2APart {
  if (part.kind !== "data") return part;
  const { metadata } = part;
  return { ...textPart(JSON.stringify(part.data)), ...(metadata && { metadata }) };
}
