import {
  type ApprovalOption,
  CODER_DIALECTS,
  type DataPart,
  type Message,
  type Metadata,
  invalidParams,
  textPart,
} from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import { type CallDetails, fileNameOf } from "../events/call-details.ts";
import type { CoderEvent, CoderToolCall } from "../events/coder-event.ts";
import { CoderAgentEvent } from "./coder-agent-event.ts";
import {
  type CoderDialect,
  type DialectEvent,
  type EventScope,
  outputUpdate,
  statusUpdate,
  textField,
} from "./coder-dialect.ts";
import { resultText } from "./event-messages.ts";

/**
 * The dialect that clients of Gemini's coding agent read: status updates with a kind in
 * `metadata.coderAgent`, and tool calls as that agent serializes them, except that the schemas of the
 * tools are not repeated with every update. Clients activate it by the settings in their first
 * message, and answer confirmations with `{ callId, outcome }`.
 */
export const coderAgent: CoderDialect = {
  uri: CODER_DIALECTS.coderAgent,
  description: "Events of the coding agent with a kind in metadata.coderAgent.",
  isUsedBy: (message) => hasSettings(message) || message.parts.some(isReply),
  encode,
  readReply: (data, field) => {
    const callId = textField(data, "callId", field);
    const outcome = textField(data, "outcome", field);
    if (callId === undefined || outcome === undefined) return undefined;
    const option = OPTIONS.get(outcome);
    if (option === undefined) {
      throw invalidParams(`${field}.outcome`, `must be one of ${[...OPTIONS.keys()].join(", ")}`);
    }
    const newContent = textField(data, "newContent", field);
    if (outcome === MODIFY && newContent === undefined) {
      throw invalidParams(`${field}.newContent`, `is required with the outcome ${MODIFY}`);
    }
    const fields = { callId: `${field}.callId`, option: `${field}.outcome` };
    return { callId, option, fields, newContent, answer: answerIn(data, field) };
  },
};

/** Sent with the content that the user has edited. */
const MODIFY = "modify_with_editor";

/** The decision that an outcome stands for. */
const OPTIONS: ReadonlyMap<string, ApprovalOption> = new Map([
  ["proceed_once", "once"],
  ["cancel", "reject"],
  ["proceed_always", "conversation"],
  ["proceed_always_server", "conversation"],
  ["proceed_always_tool", "conversation"],
  ["proceed_always_and_save", "always"],
  [MODIFY, "once"],
]);

/** The answers to questions, by the index of the question; a call asks one at a time. */
function answerIn({ answers }: JsonObject, field: string): string | undefined {
  if (answers === undefined) return undefined;
  const answer = isObject(answers) ? Object.values(answers)[0] : undefined;
  if (typeof answer === "string") return answer;
  throw invalidParams(`${field}.answers`, 'must be an object such as {"0": "yes"}');
}

function hasSettings({ metadata }: Message): boolean {
  const settings = metadata?.["coderAgent"];
  return isObject(settings) && settings["kind"] === CoderAgentEvent.StateAgentSettingsEvent;
}

function isReply(part: Message["parts"][number]): boolean {
  return (
    part.kind === "data" && isObject(part.data) && "callId" in part.data && "outcome" in part.data
  );
}

function encode(event: DialectEvent, scope: EventScope): ReturnType<CoderDialect["encode"]> {
  switch (event.kind) {
    case "task":
      return [event.task];
    case "output":
      return [outputUpdate(scope, event)];
    case "state":
      return [stateChange(event, scope)];
    case "tool-call":
      return [ofCall(CoderAgentEvent.ToolCallUpdateEvent, event.call, scope)];
    case "confirmation":
      return [ofCall(CoderAgentEvent.ToolCallConfirmationEvent, event.call, scope)];
    case "decision": {
      // The confirmation again, with its outcome. A call that was approved is scheduled after that.
      const { call, confirmation } = event;
      const decided = { ...call, confirmation };
      const shown = ofCall(CoderAgentEvent.ToolCallConfirmationEvent, decided, scope);
      if (call.decision?.outcome !== "approved") return [shown];
      const second = { ...scope, messageId: `${scope.messageId}-scheduled` };
      return [shown, ofCall(CoderAgentEvent.ToolCallUpdateEvent, call, second)];
    }
    case "text": {
      // All chunks of one text have one message id.
      const messageId = `${scope.taskId}-${event.textId}`;
      const metadata = metadataOf(CoderAgentEvent.TextContentEvent, scope);
      return [statusUpdate(scope, { parts: [textPart(event.text)], messageId, metadata })];
    }
    case "thought": {
      const { subject, description } = event;
      const part: DataPart = { kind: "data", data: { subject, description } };
      const metadata = metadataOf(CoderAgentEvent.ThoughtEvent, scope);
      return [statusUpdate(scope, { parts: [part], metadata })];
    }
    case "citation": {
      const { url, title } = event;
      const parts = [textPart(title === undefined ? url : `${title}: ${url}`)];
      const metadata = metadataOf(CoderAgentEvent.CitationEvent, scope);
      return [statusUpdate(scope, { parts, metadata })];
    }
    case "settings": {
      const parts: readonly DataPart[] = [{ kind: "data", data: event.settings }];
      const metadata = metadataOf(CoderAgentEvent.StateAgentSettingsEvent, scope);
      return [statusUpdate(scope, { parts, metadata })];
    }
    case "plan":
    case "usage":
      return [];
    default:
      return event satisfies never;
  }
}

function metadataOf(kind: CoderAgentEvent, { model }: EventScope): Metadata {
  return { coderAgent: { kind }, ...(model !== undefined && { model }) };
}

function stateChange(
  { message, metadata: { error, traceId }, final }: Extract<CoderEvent, { kind: "state" }>,
  scope: EventScope,
): ReturnType<typeof statusUpdate> {
  const texts = message?.parts.filter((part) => part.kind === "text") ?? [];
  const { inputTokens, outputTokens, cachedInputTokens } = scope.usage;
  const metadata = {
    ...metadataOf(CoderAgentEvent.StateChangeEvent, scope),
    ...(typeof error === "string" && { error }),
    ...(typeof traceId === "string" && { traceId }),
    ...(final && {
      usageMetadata: {
        promptTokenCount: inputTokens,
        candidatesTokenCount: outputTokens,
        totalTokenCount: inputTokens + outputTokens,
        ...(cachedInputTokens > 0 && { cachedContentTokenCount: cachedInputTokens }),
      },
    }),
  };
  const content = message && texts.length > 0 && { parts: texts, messageId: message.messageId };
  return statusUpdate(scope, { ...content, final, metadata });
}

function ofCall(
  kind: CoderAgentEvent,
  call: CoderToolCall,
  scope: EventScope,
): ReturnType<typeof statusUpdate> {
  const parts: readonly DataPart[] = [{ kind: "data", data: serializedCall(call, scope) }];
  return statusUpdate(scope, { parts, metadata: metadataOf(kind, scope) });
}

const STATUSES = {
  PENDING: "scheduled",
  EXECUTING: "executing",
  SUCCEEDED: "success",
  FAILED: "error",
  CANCELLED: "cancelled",
} as const;

const TOOL_KINDS = { edit: "edit", exec: "execute", mcp: "other", info: "other" } as const;

/** The outcome that stands for a decision. */
const OUTCOMES: Readonly<Record<ApprovalOption, string>> = {
  once: "proceed_once",
  conversation: "proceed_always",
  always: "proceed_always_and_save",
  edit: "proceed_once",
  reject: "cancel",
};

/** A tool call as Gemini's agent serializes it. */
function serializedCall(call: CoderToolCall, { taskId }: EventScope): Metadata {
  const { callId, name, status, input, confirmation, decision, output, details } = call;
  const title = confirmation?.kind === "approval" ? confirmation.approval.title : name;
  return {
    request: {
      callId,
      name,
      args: input,
      display: { name, description: title },
      isClientInitiated: false,
      prompt_id: taskId,
    },
    status: confirmation === undefined ? STATUSES[status] : "awaiting_approval",
    ...(confirmation && { confirmationDetails: confirmationDetails(call) }),
    ...(output !== undefined && status === "EXECUTING" && { liveOutput: output }),
    ...responseOf(call),
    ...(decision && { outcome: OUTCOMES[decision.option ?? "reject"] }),
    tool: {
      name,
      displayName: name,
      kind: details === undefined ? "other" : TOOL_KINDS[details.type],
      isOutputMarkdown: false,
      canUpdateOutput: true,
    },
  };
}

function confirmationDetails({ name, confirmation, details }: CoderToolCall): Metadata {
  if (confirmation?.kind === "question") {
    const { prompt, options } = confirmation;
    const choices = options && { options: options.map((label) => ({ label })) };
    const type = options === undefined ? "text" : "choice";
    const questions = [{ question: prompt, header: name, type, ...choices }];
    return { type: "ask_user", title: name, questions };
  }
  const title = confirmation?.approval.title ?? name;
  return { title, ...detailFields(details ?? { type: "info", prompt: title }) };
}

function detailFields(details: CallDetails): Metadata {
  switch (details.type) {
    case "edit":
      return { type: "edit", isModifying: false, ...fileDiff(details) };
    case "exec": {
      const { command, commands } = details;
      const rootCommands = [...new Set(commands.map((one) => one.split(/\s/, 1)[0] ?? one))];
      return {
        type: "exec",
        command,
        rootCommand: rootCommands.join(", "),
        rootCommands,
        commands,
      };
    }
    case "mcp":
      return { ...details, toolDisplayName: details.toolName };
    case "info":
      return { ...details };
    default:
      return details satisfies never;
  }
}

function fileDiff(details: Extract<CallDetails, { type: "edit" }>): Metadata {
  const { filePath, oldContent, newContent = "", diff = "" } = details;
  return {
    fileName: fileNameOf(details),
    filePath,
    fileDiff: diff,
    originalContent: oldContent ?? null,
    newContent,
  };
}

/** The result for the model, and how it is shown: the change of a file, or text. */
function responseOf({ callId, name, status, result, error, details }: CoderToolCall): Metadata {
  if (result === undefined && error === undefined) return {};
  const text = error ?? resultText(result);
  const functionResponse = {
    id: callId,
    name,
    response: error === undefined ? { output: text } : { error },
  };
  const isEdit = details?.type === "edit" && status === "SUCCEEDED";
  return {
    response: {
      callId,
      responseParts: [{ functionResponse }],
      resultDisplay: isEdit
        ? { ...fileDiff(details), isNewFile: details.oldContent === undefined }
        : text,
      ...(status === "FAILED" && { error: { message: text }, errorType: "execution_failed" }),
      contentLength: text.length,
    },
  };
}
