import { type Task, type TaskState, isTerminal } from "../model/task.ts";
import { textOfParts } from "../model/part.ts";
import type { Message } from "../model/message.ts";

/** The states of the polling protocol; they only move forward. */
export type A2ATaskState = "submitted" | "working" | "completed" | "failed";

/** A text message. */
export interface A2AMessage {
  readonly role: "user" | "agent";
  readonly parts: readonly A2AMessagePart[];
}

/** `type` is the field of the polling protocol, `kind` that of A2A 0.3. */
interface A2AMessagePart {
  readonly type: "text";
  readonly kind?: "text";
  readonly text: string;
}

/** A task of the polling protocol: `POST /a2a/tasks/send`, then `GET /a2a/tasks/:id`. */
export interface A2ATask {
  readonly id: string;
  readonly state: A2ATaskState;
  /** The A2A state, if none of the four states above matches it. */
  readonly a2aState?: TaskState;
  readonly messages: readonly A2AMessage[];
  readonly sessionId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A text as a message that readers of `type` and readers of `kind` understand. */
export function a2aMessage(role: A2AMessage["role"], text: string): A2AMessage {
  return { role, parts: [{ type: "text", kind: "text", text }] };
}

/** An A2A task for callers of the polling protocol. Its session is the conversation. */
export function toA2ATask(task: Task, createdAt: string): A2ATask {
  const { id, contextId, status } = task;
  const state = STATES[status.state];
  return {
    id,
    state,
    ...(state !== status.state && { a2aState: status.state }),
    messages: messagesOf(task),
    sessionId: contextId,
    createdAt,
    updatedAt: status.timestamp ?? createdAt,
  };
}

const STATES: Readonly<Record<TaskState, A2ATaskState>> = {
  submitted: "submitted",
  working: "working",
  "input-required": "working",
  "auth-required": "working",
  unknown: "working",
  completed: "completed",
  failed: "failed",
  canceled: "failed",
  rejected: "failed",
};

/**
 * The history, the status message and the artifacts as one list. Callers take the last message of
 * the agent for the answer: that is the artifacts, unless the task ended without success; then it is
 * the reason.
 */
function messagesOf(task: Task): readonly A2AMessage[] {
  const { history = [], status, artifacts = [] } = task;
  const hasFailed = isTerminal(status.state) && status.state !== "completed";
  const texts = artifacts.map(({ parts }) => textOfParts(parts)).filter((text) => text !== "");
  const answer = texts.length === 0 ? [] : [a2aMessage("agent", texts.join("\n"))];
  const said = status.message === undefined ? "" : textOfParts(status.message.parts);
  const text = said === "" && hasFailed ? `Task ${status.state}` : said;
  const reason = text === "" ? [] : [a2aMessage("agent", text)];
  const earlier = history.filter(({ messageId }) => messageId !== status.message?.messageId);
  return [
    ...earlier.map(toMessage),
    ...(hasFailed ? [...answer, ...reason] : [...reason, ...answer]),
  ];
}

function toMessage({ role, parts }: Message): A2AMessage {
  return a2aMessage(role, textOfParts(parts));
}
