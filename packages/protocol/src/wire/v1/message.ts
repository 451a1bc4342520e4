import { isObject } from "../../internal/json.ts";
import { invalidParams } from "../../model/errors.ts";
import type { Message, Role } from "../../model/message.ts";
import { type A2APart, type Metadata, textPart } from "../../model/part.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { readBase64, withKind } from "../codec/values.ts";
import { UNNAMED } from "../legacy/messages.ts";
import { decodeSentMessage as decodeSentMessage03 } from "../v0_3/message.ts";
import { MESSAGE, PART } from "./schemas.ts";

const check = compileCheck(MESSAGE);

const SHAPE = jsonShape([
  "messageId",
  "contextId",
  "taskId",
  "role",
  "parts",
  "metadata",
  "extensions",
  "referenceTaskIds",
]);

/** Roles by name and by proto number. */
const ROLES: Readonly<Record<string, Role>> = {
  ROLE_USER: "user",
  ROLE_AGENT: "agent",
  1: "user",
  2: "agent",
};

type WireMessage = Omit<Message, "kind" | "role" | "parts"> & {
  readonly role: string;
  readonly parts: readonly object[];
};

/** Decodes a message. */
export function decodeMessage(value: unknown, field: string): Message {
  const named = readProtoFields(value, SHAPE, field);
  check(named, field);
  const { taskId, contextId, ...rest } = named as WireMessage;
  return withKind("message", {
    ...rest,
    role: ROLES[rest.role] ?? "user",
    parts: rest.parts.map((part, place) => decodePart(part, `${field}.parts[${place}]`)),
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
  });
}

/** Decodes a message from a server. It may have no id, no role or no parts, or be in the format of 0.3. */
export function decodeSentMessage(value: unknown, field: string): Message {
  const named = readProtoFields(value, SHAPE, field);
  if (!isObject(named)) return decodeMessage(value, field);
  const { role = "ROLE_AGENT", messageId, parts = [] } = named as Partial<WireMessage>;
  if (ROLES_03.has(role)) return decodeSentMessage03(value, field);
  const whole = { ...named, messageId: messageId || UNNAMED, role, parts };
  if (parts.length > 0) return decodeMessage(whole, field);
  return withKind("message", { ...whole, role: ROLES[role] ?? "agent", parts: [] });
}

const ROLES_03: ReadonlySet<string> = new Set(["user", "agent", "assistant"]);

/** Encodes a message. */
export function encodeMessage(message: Message): WireMessage {
  const { kind: _, ...rest } = message;
  return {
    ...rest,
    role: message.role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    parts: message.parts.map(encodePart),
  };
}

/** A part in 1.0: flat; the member that is set determines its kind. */
interface WirePart {
  readonly text?: string;
  readonly raw?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly filename?: string;
  readonly mediaType?: string;
  readonly metadata?: Metadata;
}

const checkPart = compileCheck(PART);

const PART_SHAPE = jsonShape(["text", "raw", "url", "data", "filename", "mediaType", "metadata"]);

/** Decodes a part. The value is known to be an object. */
export function decodePart(sent: object, field: string): A2APart {
  // Every chunk of an answer, so the checks below are left out.
  if (isOnlyText(sent)) return textPart(sent.text);
  const value = readProtoFields(sent, PART_SHAPE, field) as object;
  checkPart(value, field);
  // Presence counts, not truthiness: `text: ""` and `data: null` are content.
  if (countContents(value) !== 1) {
    throw invalidParams(field, "must have exactly one of text, raw, url, data");
  }
  const { text } = value as WirePart;
  if (typeof text === "string") return withKind("text", { ...value, text });
  const { raw, url, ...rest } = value as WirePart;
  if ("text" in rest) return withKind("text", { ...rest, text: "" });
  if ("data" in rest) return withKind("data", { ...rest, data: rest.data });
  const { filename, mediaType, ...others } = rest;
  return withKind("file", {
    ...others,
    file: {
      ...(filename !== undefined && { name: filename }),
      ...(mediaType !== undefined && { mimeType: mediaType }),
      ...(raw === undefined ? {} : { bytes: readBase64(raw, `${field}.raw`) }),
      ...(url === undefined ? {} : { uri: url }),
    },
  });
}

function isOnlyText(sent: object): sent is { readonly text: string } {
  for (const name in sent) if (name !== "text") return false;
  return typeof (sent as WirePart).text === "string";
}

const CONTENTS = ["text", "raw", "url", "data"] as const;

function countContents(value: object): number {
  let count = 0;
  for (const name of CONTENTS) if (name in value) count++;
  return count;
}

/** Encodes a part. */
export function encodePart(part: A2APart): WirePart {
  if (part.kind !== "file") {
    const { kind: _, ...rest } = part;
    return rest;
  }
  const { kind: _, file, ...rest } = part;
  return {
    ...rest,
    ...(file.bytes !== undefined && { raw: file.bytes }),
    ...(file.uri !== undefined && { url: file.uri }),
    ...(file.name !== undefined && { filename: file.name }),
    ...(file.mimeType !== undefined && { mediaType: file.mimeType }),
  };
}
