import { type JsonObject, isObject, printableJson } from "@convoke/protocol/internal";
import { textField, listField, objectField } from "../terminal/json-fields.ts";
import type { LogItem } from "./task-source.ts";

/** An event of a log in a few words. */
export interface ItemWords {
  /** The kind of the event: `status`, `artifact`, or that of a note, such as `tool-start`. */
  readonly kind: string;
  readonly text: string;
  /** Whether it is a note of the agent or of the engine, which A2A does not show. */
  readonly isNote: boolean;
}

export function describeItem(item: LogItem): ItemWords {
  const event = objectField(item, "event");
  const kind = textField(event, "kind");
  if (kind.startsWith("internal:")) {
    return { kind: kind.slice("internal:".length), text: noteText(event), isNote: true };
  }
  switch (kind) {
    case "task":
      return { kind, text: messageText(listField(event, "history")[0]), isNote: false };
    case "status-update": {
      const status = objectField(event, "status");
      const said = messageText(status["message"]);
      const state = textField(status, "state");
      return { kind: "status", text: said === "" ? state : `${state}: ${said}`, isNote: false };
    }
    case "artifact-update": {
      const artifact = objectField(event, "artifact");
      const name = textField(artifact, "name") || textField(artifact, "artifactId");
      return { kind: "artifact", text: `${name}: ${messageText(artifact)}`, isNote: false };
    }
    default:
      return { kind, text: messageText(event), isNote: false };
  }
}

/** The text of a message or an artifact; other parts are named by their kind. */
function messageText(message: unknown): string {
  return listField(message, "parts")
    .map((part) => textField(part, "text") || `[${textField(part, "kind")}]`)
    .join("");
}

/** What most notes have in common comes first, then the other fields as they are. */
function noteText(event: JsonObject): string {
  const { kind: _, taskId: _task, timestamp: _time, toolCallId: _call, ...fields } = event;
  if (isObject(fields["message"])) return messageText(fields["message"]);
  const { toolName, text, ...rest } = fields;
  const words = [toolName, text].filter((one) => typeof one === "string");
  const more = Object.keys(rest).length === 0 ? [] : [printableJson(rest)];
  return [...words, ...more].join(" ");
}
