import {
  type A2APart,
  CODECS,
  type Codec,
  type Message,
  PROTO_CODECS,
  type PublicEvent,
  type Task,
  type TaskState,
  agentMessage,
  isFinal,
} from "@convoke/protocol";
import type { FaultSpeaking } from "../fault-scenario.ts";

// The data of the agents of all scenarios: task t1 in context c1, in the types of the model.

const ids = { taskId: "t1", contextId: "c1" };

/** Characters of one, two and four bytes, in two chunks. */
export const GREETING = ["Grüße, ", "Welt 🦉."] as const;

/** The final result of every correct agent. */
export const GREETED = { text: GREETING.join(""), state: "completed" } as const;

export function aTask(state: TaskState, text = ""): Task {
  const artifacts = text === "" ? {} : { artifacts: [{ artifactId: "a1", parts: [part(text)] }] };
  return {
    kind: "task",
    id: ids.taskId,
    contextId: ids.contextId,
    status: { state },
    ...artifacts,
  };
}

export function aStatus(state: TaskState, text?: string): PublicEvent {
  const status = { state, ...(text !== undefined && { message: aMessage(text) }) };
  return { kind: "status-update", ...ids, status, final: isFinal(state) };
}

export function aChunk(text: string, append = true): PublicEvent {
  return {
    kind: "artifact-update",
    ...ids,
    artifact: { artifactId: "a1", parts: [part(text)] },
    append,
  };
}

/** A direct reply without a task. */
export function aMessage(text: string): Message {
  return { ...agentMessage(`m-${text}`, text), contextId: ids.contextId };
}

function part(text: string): A2APart {
  return { kind: "text", text };
}

/** The complete greeting. */
export const STORY: readonly PublicEvent[] = [
  aTask("submitted"),
  aStatus("working"),
  aChunk(GREETING[0], false),
  aChunk(GREETING[1]),
  aStatus("completed"),
];

/** 0.3 has one JSON format for JSON-RPC and another for REST. */
export function codecOf({ version, binding }: FaultSpeaking): Codec {
  return binding === "JSONRPC" ? CODECS[version] : PROTO_CODECS[version];
}
