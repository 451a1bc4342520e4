import {
  type A2APart,
  type ArtifactUpdateEvent,
  type Message,
  type PublicEvent,
  type Task,
  type TaskState,
  agentMessage,
  isFinal,
} from "@convoke/protocol";

// The data of the agents of all client probes, in the types of the model: one task in one context.

/** The only task that the agents know. */
export const TASK_ID = "task-1";
export const CONTEXT_ID = "context-1";

/** Characters of one, two and four bytes, in two chunks. */
const CHUNKS = ["Grüße, ", "Welt 🦉."] as const;

/** The text of every complete answer. */
export const ANSWER_TEXT = CHUNKS.join("");

const IDS = { taskId: TASK_ID, contextId: CONTEXT_ID };

/** A task with that text as its only artifact. */
export function aTask(state: TaskState, text = ""): Task {
  const artifacts = text === "" ? {} : { artifacts: [anArtifact("answer", text)] };
  return { kind: "task", id: TASK_ID, contextId: CONTEXT_ID, status: { state }, ...artifacts };
}

export const DONE = aTask("completed", ANSWER_TEXT);

/** A task that waits for an answer of the client. */
export const ASKING: Task = {
  ...aTask("input-required"),
  status: { state: "input-required", message: aMessage("Which color?") },
};

export function aStatus(state: TaskState, text?: string): PublicEvent {
  const status = { state, ...(text !== undefined && { message: aMessage(text) }) };
  return { kind: "status-update", ...IDS, status, final: isFinal(state) };
}

export function aChunk(
  text: string,
  options: { readonly id?: string } & Pick<ArtifactUpdateEvent, "append" | "lastChunk"> = {},
): PublicEvent {
  const { id = "answer", ...how } = options;
  return { kind: "artifact-update", ...IDS, artifact: anArtifact(id, text), ...how };
}

/** A message of the agent that belongs to no task. */
export function aMessage(text: string): Message {
  return { ...agentMessage(`message of ${text}`, text), contextId: CONTEXT_ID };
}

function anArtifact(artifactId: string, text: string) {
  const part: A2APart = { kind: "text", text };
  return { artifactId, parts: [part] };
}

/** The task as it is when the first chunk has been sent. */
export const HALF_DONE = aTask("working", CHUNKS[0]);

/** The events for a subscriber that returns after the first chunk. */
export const SECOND_HALF: readonly PublicEvent[] = [
  HALF_DONE,
  aChunk(CHUNKS[1], { append: true, lastChunk: true }),
  aStatus("completed"),
];

/** A whole stream. */
export const STORY: readonly PublicEvent[] = [
  aTask("submitted"),
  aStatus("working"),
  aChunk(CHUNKS[0], { append: false }),
  ...SECOND_HALF.slice(1),
];
