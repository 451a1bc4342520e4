import { type DataPart, EXTENSIONS, type Metadata, textPart } from "@convoke/protocol";
import type { CoderEvent, CoderToolCall } from "../events/coder-event.ts";
import {
  type CoderDialect,
  type DialectEvent,
  type EventScope,
  outputUpdate,
  statusUpdate,
  textField,
} from "./coder-dialect.ts";

const { uri, description } = EXTENSIONS.coder;

/** Our own extension, with everything that the agent reports. */
export const coderExtension: CoderDialect = {
  uri,
  description,
  encode,
  readReply: (data, field) => {
    const callId = textField(data, "callId", field);
    const option = textField(data, "option", field);
    if (callId === undefined || option === undefined) return undefined;
    return {
      callId,
      option,
      fields: { callId: `${field}.callId`, option: `${field}.option` },
      newContent: textField(data, "newContent", field),
      answer: textField(data, "answer", field),
      feedback: textField(data, "feedback", field),
    };
  },
};

function encode(event: DialectEvent, scope: EventScope): ReturnType<CoderDialect["encode"]> {
  switch (event.kind) {
    case "task":
      return [event.task];
    case "output":
      return [outputUpdate(scope, event)];
    case "state": {
      const { message, final, metadata } = event;
      const content = message && { parts: message.parts, messageId: message.messageId };
      return [
        statusUpdate(scope, {
          ...content,
          final,
          metadata: { ...metadata, ...mark("state", scope) },
        }),
      ];
    }
    case "text": {
      const messageId = `${scope.taskId}-${event.textId}`;
      const metadata = mark("text", scope);
      return [statusUpdate(scope, { parts: [textPart(event.text)], messageId, metadata })];
    }
    case "tool-call":
    case "confirmation":
    case "decision":
      return [ofData(event.kind, shownCall(event.call), scope)];
    case "thought":
    case "citation":
    case "plan": {
      const { kind, ...data } = event;
      return [ofData(kind, data, scope)];
    }
    case "settings":
      return [ofData(event.kind, event.settings, scope)];
    case "usage":
      return [ofData(event.kind, event.usage, scope)];
    default:
      return event satisfies never;
  }
}

/** The live output is an artifact of its own, so that each update has only what is new. */
function shownCall(call: CoderToolCall): Metadata {
  const { output: _, ...rest } = call;
  return rest;
}

function ofData(
  kind: CoderEvent["kind"],
  data: object,
  scope: EventScope,
): ReturnType<typeof statusUpdate> {
  const part: DataPart = { kind: "data", data, metadata: { [uri]: { type: kind } } };
  return statusUpdate(scope, { parts: [part], metadata: mark(kind, scope) });
}

function mark(kind: CoderEvent["kind"], { model }: EventScope): Metadata {
  return { [uri]: { kind, ...(model !== undefined && { model }) } };
}
