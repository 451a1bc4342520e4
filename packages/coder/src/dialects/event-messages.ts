import { CODER_DIALECTS, type Metadata, type TaskState, invalidParams } from "@convoke/protocol";
import type { CoderToolCall, ToolCallStatus } from "../events/coder-event.ts";
import type { AgentSettings } from "../events/settings.ts";
import { CoderAgentEvent } from "./coder-agent-event.ts";
import {
  type CoderDialect,
  type DialectEvent,
  type EventScope,
  statusUpdate,
  textField,
} from "./coder-dialect.ts";

/** Asks for the approval of a tool call, or for the answer to its question. */
export interface ToolCallConfirmation {
  readonly kind: "tool-call-confirmation";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly inputParameters: unknown;
  readonly confirmationRequest: {
    readonly title: string;
    readonly prompt: string;
    readonly type: "info" | "warning" | "danger";
  };
}

/** A tool call has another status, or more output. */
export interface ToolCallUpdate {
  readonly kind: "tool-call-update";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly status: ToolCallStatus;
  readonly inputParameters?: unknown;
  /** More output while it runs. */
  readonly output?: string;
  readonly result?: string;
  readonly error?: string;
}

export interface TextContent {
  readonly kind: "text-content";
  readonly text: string;
}

export interface StateChange {
  readonly kind: "state-change";
  readonly state: TaskState;
  /** Why, for people. */
  readonly message?: string;
}

export interface Thought {
  readonly kind: "thought";
  readonly subject: string;
  readonly description: string;
}

export interface Citation {
  readonly kind: "citation";
  readonly url: string;
  readonly title?: string;
}

/** The data part of an event. */
export type CoderAgentMessage =
  | ToolCallConfirmation
  | ToolCallUpdate
  | TextContent
  | StateChange
  | AgentSettings
  | Thought
  | Citation;

/** The reply to a confirmation: `userMessage` in the body of `POST /message/stream`, or a data part. */
export interface ToolCallConfirmationReply {
  readonly kind: "tool-call-confirmation";
  readonly toolCallId: string;
  readonly approved: boolean;
  /** The answer, if the call asks a question. */
  readonly answer?: string;
}

/** What works on a task: the answer of `GET /tasks/{id}/metadata`. */
export interface TaskMetadata {
  readonly id: string;
  readonly contextId: string;
  readonly taskState: TaskState;
  readonly model: string;
  readonly mcpServers: readonly {
    readonly name: string;
    readonly status: string;
    readonly tools: readonly ToolSummary[];
  }[];
  readonly availableTools: readonly ToolSummary[];
}

export interface ToolSummary {
  readonly name: string;
  readonly description?: string;
  readonly parameterSchema?: Metadata;
}

/** Each event is one JSON object in a data part. */
export const eventMessages: CoderDialect = {
  uri: CODER_DIALECTS.events,
  description: "Events of the coding agent, each as one JSON object.",
  encode: (event, scope) => {
    const data = messageOf(event);
    if (data === undefined) return [];
    const final = event.kind === "state" && event.final;
    const metadata = { coderAgent: { kind: data.kind }, ...modelOf(scope) };
    return [statusUpdate(scope, { parts: [{ kind: "data", data }], final, metadata })];
  },
  readReply: (data, field) => {
    if (data["kind"] !== CoderAgentEvent.ToolCallConfirmationEvent) return undefined;
    const callId = textField(data, "toolCallId", field);
    const { approved } = data;
    if (callId === undefined) throw invalidParams(`${field}.toolCallId`, "is required");
    if (typeof approved !== "boolean") {
      throw invalidParams(`${field}.approved`, "must be true or false");
    }
    return {
      callId,
      option: approved ? "once" : "reject",
      fields: { callId: `${field}.toolCallId`, option: `${field}.approved` },
      answer: textField(data, "answer", field),
    };
  },
};

function messageOf(event: DialectEvent): CoderAgentMessage | undefined {
  switch (event.kind) {
    case "state": {
      const text = event.message?.parts.find((part) => part.kind === "text")?.text;
      const { state } = event;
      const kind = CoderAgentEvent.StateChangeEvent;
      return { kind, state, ...(text !== undefined && { message: text }) };
    }
    case "tool-call":
      return updateOf(event.call);
    case "output":
      return { ...updateOf(event.call), output: event.text };
    case "confirmation":
      return confirmationOf(event.call);
    case "text":
      return { kind: CoderAgentEvent.TextContentEvent, text: event.text };
    case "thought":
      return { ...event, kind: CoderAgentEvent.ThoughtEvent };
    case "citation":
      return { ...event, kind: CoderAgentEvent.CitationEvent };
    case "settings":
      return event.settings;
    default:
      return undefined;
  }
}

function updateOf({ callId, name, status, input, result, error }: CoderToolCall): ToolCallUpdate {
  return {
    kind: CoderAgentEvent.ToolCallUpdateEvent,
    toolCallId: callId,
    toolName: name,
    status,
    inputParameters: input,
    ...(result !== undefined && { result: resultText(result) }),
    ...(error !== undefined && { error }),
  };
}

function confirmationOf({
  callId,
  name,
  input,
  confirmation,
}: CoderToolCall): ToolCallConfirmation {
  const request =
    confirmation?.kind === "approval"
      ? {
          title: confirmation.approval.title,
          prompt: confirmation.approval.prompt ?? confirmation.approval.title,
          type: confirmation.approval.risk,
        }
      : { title: name, prompt: confirmation?.prompt ?? "", type: "info" as const };
  return {
    kind: CoderAgentEvent.ToolCallConfirmationEvent,
    toolCallId: callId,
    toolName: name,
    inputParameters: input,
    confirmationRequest: request,
  };
}

/** The result of a tool as text. */
export function resultText(result: unknown): string {
  return typeof result === "string" ? result : JSON.stringify(result);
}

function modelOf({ model }: EventScope): Metadata {
  return model === undefined ? {} : { model };
}
