import { jsonOrText } from "../internal/json.ts";
import type { AgentEvent, StatusUpdateEvent } from "../model/events.ts";
import { agentMessage } from "../model/message.ts";
import type { A2APart, DataPart, Metadata } from "../model/part.ts";
import { EXTENSIONS, extensionData } from "./extensions.ts";

/** The meaning of a data part: `part.metadata["<uri>"].type`. */
export type ToolActivityType = "tool-use" | "tool-result";

/** The `data` of a `tool-use` part: the model calls a tool. */
export interface ToolActivityUse {
  readonly toolUseId: string;
  readonly name: string;
  /** The arguments; a text if the model wrote something that is not JSON. */
  readonly input: unknown;
}

/** The `data` of a `tool-result` part: exactly one of `result` and `error`. */
export interface ToolActivityResult {
  readonly toolUseId: string;
  readonly name: string;
  readonly result?: unknown;
  readonly error?: unknown;
}

const { uri } = EXTENSIONS.toolActivity;

/**
 * The status update for an internal event about tool calls: the model calls tools, or a call has a
 * result. Undefined for any other event. It is derived from the log when a caller that has
 * activated the extension reads it, and never stored.
 */
export function toolActivity(event: AgentEvent, messageId: string): StatusUpdateEvent | undefined {
  const fields = event as unknown as ActivityFields;
  const parts = partsFor(event, fields);
  if (parts.length === 0) return undefined;
  const { taskId, contextId, timestamp, metadata } = fields;
  const message = { ...agentMessage(messageId, parts), taskId, contextId };
  return {
    kind: "status-update",
    taskId,
    contextId,
    status: { state: "working", message, ...(timestamp !== undefined && { timestamp }) },
    final: false,
    ...(metadata && { metadata }),
  };
}

/** Whether a part reports a tool call or its result. */
export function toolActivityType(part: A2APart): ToolActivityType | undefined {
  if (part.kind !== "data") return undefined;
  const mark = extensionData(part.metadata, uri) as { readonly type?: unknown } | null | undefined;
  return mark?.type === "tool-use" || mark?.type === "tool-result" ? mark.type : undefined;
}

/** The fields of the internal events that are read here. */
interface ActivityFields {
  readonly taskId: string;
  readonly contextId: string;
  readonly timestamp?: string;
  readonly metadata?: Metadata;
  readonly content?: readonly CallFields[];
  readonly toolCallId: string;
  readonly toolName: string;
  readonly success?: boolean;
  readonly output?: unknown;
}

interface CallFields {
  readonly kind: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
}

function partsFor({ kind }: AgentEvent, fields: ActivityFields): readonly DataPart[] {
  if (kind === "internal:llm-result") {
    const calls = (fields.content ?? []).filter((piece) => piece.kind === "tool-call");
    return calls.map(({ toolCallId: toolUseId, toolName: name, input }) =>
      marked("tool-use", { toolUseId, name, input: jsonOrText(input) }),
    );
  }
  if (kind !== "internal:tool-complete") return [];
  const { toolCallId: toolUseId, toolName: name, success, output = null } = fields;
  const outcome = success === true ? { result: output } : { error: output };
  return [marked("tool-result", { toolUseId, name, ...outcome })];
}

function marked(type: ToolActivityType, data: ToolActivityUse | ToolActivityResult): DataPart {
  return { kind: "data", data, metadata: { [uri]: { type } } };
}
