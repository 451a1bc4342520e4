import { CODER_DIALECTS, type ApprovalOption, type Metadata, textPart } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { type EditDetails, fileNameOf } from "../events/call-details.ts";
import type { CoderToolCall } from "../events/coder-event.ts";
import {
  type CoderDialect,
  type DialectEvent,
  type EventScope,
  statusUpdate,
  textField,
} from "./coder-dialect.ts";
import { resultText } from "./event-messages.ts";

const { developmentTool: uri } = CODER_DIALECTS;

/**
 * The development-tool extension v0: metadata under its URI, and the whole tool call with every
 * update, in the field names of its schema.
 */
export const developmentTool: CoderDialect = {
  uri,
  description: "Events of the coding agent in the development-tool extension v0.",
  encode,
  readReply: (data, field) => {
    const callId = textField(data, "tool_call_id", field);
    const option = textField(data, "selected_option_id", field);
    if (callId === undefined || option === undefined) return undefined;
    const fields = { callId: `${field}.tool_call_id`, option: `${field}.selected_option_id` };
    const modified = isObject(data["modified_details"]) ? data["modified_details"] : data;
    const file = modified["file_details"];
    const newContent = isObject(file) ? textField(file, "new_content", field) : undefined;
    return { callId, option, fields, newContent };
  },
};

type Kind = "TOOL_CALL_UPDATE" | "TEXT_CONTENT" | "STATE_CHANGE" | "THOUGHT";

function encode(event: DialectEvent, scope: EventScope): ReturnType<CoderDialect["encode"]> {
  switch (event.kind) {
    case "task":
      return [event.task];
    case "tool-call":
    case "confirmation":
    case "output": {
      const parts = [{ kind: "data", data: toolCall(event.call) } as const];
      return [statusUpdate(scope, { parts, metadata: metadataOf("TOOL_CALL_UPDATE", scope) })];
    }
    case "text": {
      const metadata = metadataOf("TEXT_CONTENT", scope);
      return [statusUpdate(scope, { parts: [textPart(event.text)], metadata })];
    }
    case "thought": {
      const { subject, description } = event;
      const parts = [{ kind: "data", data: { subject, description } } as const];
      return [statusUpdate(scope, { parts, metadata: metadataOf("THOUGHT", scope) })];
    }
    case "citation": {
      const { url, title } = event;
      const parts = [textPart(title === undefined ? url : `${title}: ${url}`)];
      return [statusUpdate(scope, { parts, metadata: metadataOf("TEXT_CONTENT", scope) })];
    }
    case "state": {
      const { message, final } = event;
      const texts = message?.parts.filter((part) => part.kind === "text") ?? [];
      const content = message && texts.length > 0 && { parts: texts, messageId: message.messageId };
      const { error } = event.metadata;
      const more = typeof error === "string" ? { error } : {};
      const metadata = metadataOf("STATE_CHANGE", scope, more);
      return [statusUpdate(scope, { ...content, final, metadata })];
    }
    // The schema has no place for these.
    case "decision":
    case "settings":
    case "plan":
    case "usage":
      return [];
    default:
      return event satisfies never;
  }
}

function metadataOf(kind: Kind, { model }: EventScope, more: Metadata = {}): Metadata {
  return { [uri]: { kind, ...(model !== undefined && { model }), ...more } };
}

function toolCall(call: CoderToolCall): Metadata {
  const { callId, status, name, input, output, result, error, confirmation, details } = call;
  const isEdit = details?.type === "edit" && status === "SUCCEEDED";
  return {
    tool_call_id: callId,
    status,
    tool_name: name,
    input_parameters: input,
    ...(confirmation?.kind === "approval" && { description: confirmation.approval.title }),
    ...(output !== undefined && { live_content: output }),
    ...(result !== undefined && {
      output: isEdit ? { diff: fileDiff(details) } : outputOf(result),
    }),
    ...(error !== undefined && { error: { message: error } }),
    ...(confirmation && { confirmation_request: confirmationRequest(call) }),
  };
}

function outputOf(result: unknown): Metadata {
  const isData = typeof result === "object" && result !== null && !Array.isArray(result);
  return isData ? { structured_data: result } : { text: resultText(result) };
}

/** What each option says. A change is edited by approving it with `modified_details`. */
const OPTIONS: Readonly<Partial<Record<ApprovalOption, { name: string; description: string }>>> = {
  once: { name: "Allow once", description: "Run this call." },
  conversation: {
    name: "Allow in this conversation",
    description: "Run this call, and do not ask about this tool again in this conversation.",
  },
  always: { name: "Always allow", description: "Run this call, and never ask about this tool." },
  reject: { name: "Reject", description: "Do not run this call." },
};

function confirmationRequest({ confirmation, details }: CoderToolCall): Metadata {
  if (confirmation?.kind === "question") {
    const { prompt, options = [] } = confirmation;
    return {
      options: options.map((option) => ({ id: option, name: option })),
      generic_details: { description: prompt },
    };
  }
  const options = (confirmation?.approval.options ?? []).flatMap((id) => {
    const texts = OPTIONS[id];
    return texts === undefined ? [] : [{ id, ...texts }];
  });
  switch (details?.type) {
    case "edit":
      return { options, file_edit_details: fileDiff(details) };
    case "exec": {
      const { command, cwd } = details;
      const folder = cwd === undefined ? {} : { working_directory: cwd };
      return { options, execute_details: { command, ...folder } };
    }
    case "mcp": {
      const { serverName, toolName } = details;
      return { options, mcp_details: { server_name: serverName, tool_name: toolName } };
    }
    default:
      return { options, generic_details: { description: details?.prompt ?? "" } };
  }
}

function fileDiff(details: EditDetails): Metadata {
  const { filePath, oldContent, newContent = "", diff } = details;
  return {
    file_name: fileNameOf(details),
    file_path: filePath,
    ...(oldContent !== undefined && { old_content: oldContent }),
    new_content: newContent,
    ...(diff !== undefined && { formatted_diff: diff }),
  };
}
