import { isObject } from "../../internal/json.ts";
import { invalidParams } from "../../model/errors.ts";
import type { Message, Role } from "../../model/message.ts";
import type { A2APart, FileContent, Metadata } from "../../model/part.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { protoShape, readProtoFields } from "../codec/proto-fields.ts";
import { readBase64, withKind } from "../codec/values.ts";
import { UNNAMED } from "../legacy/messages.ts";
import {
  decodeMessage as decodeMessage03,
  decodePart as decodePart03,
  decodeSentMessage as decodeSentMessage03,
  encodeContent,
  unwrapData,
} from "../v0_3/message.ts";
import { FILE, MESSAGE, PART } from "./schemas.ts";

const check = compileCheck(MESSAGE);

const SHAPE = protoShape([
  "messageId",
  "contextId",
  "taskId",
  "role",
  "content",
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

type WireMessage = Omit<Message, "kind" | "role" | "parts" | "referenceTaskIds"> & {
  readonly role: string;
  readonly content: readonly object[];
};

/** Decodes a message in this dialect or in that of JSON-RPC. */
export function decodeMessage(value: unknown, field: string): Message {
  if (isJsonRpcMessage(value)) return decodeMessage03(value, field);
  const named = readProtoFields(value, SHAPE, field);
  check(named, field);
  const { taskId, contextId, content, ...rest } = named as WireMessage;
  return withKind("message", {
    ...rest,
    role: ROLES[rest.role] ?? "user",
    parts: content.map((part, place) => decodePart(part, `${field}.content[${place}]`)),
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
  });
}

/** Decodes a message from a server. It may have no id, role or content, because ProtoJSON omits empty fields. */
export function decodeSentMessage(value: unknown, field: string): Message {
  if (isJsonRpcMessage(value)) return decodeSentMessage03(value, field);
  const named = readProtoFields(value, SHAPE, field);
  if (!isObject(named)) return decodeMessage(value, field);
  const { content = [], role = "ROLE_AGENT", ...rest } = named as Partial<WireMessage>;
  const messageId = rest.messageId || UNNAMED;
  if (content.length > 0) return decodeMessage({ ...rest, messageId, role, content }, field);
  return withKind("message", { ...rest, messageId, role: ROLES[role] ?? "agent", parts: [] });
}

/** Whether the message is in the dialect of JSON-RPC. Callers confuse the two dialects of 0.3; each has fields that the other never has. */
function isJsonRpcMessage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { kind, parts, content, role } = value as Readonly<Record<string, unknown>>;
  if (content !== undefined) return false;
  return kind !== undefined || parts !== undefined || role === "user" || role === "agent";
}

/** Encodes a message. The proto of 0.3 has no `referenceTaskIds`. */
export function encodeMessage(message: Message): WireMessage {
  const { kind: _, parts, referenceTaskIds: __, ...rest } = message;
  return {
    ...rest,
    role: message.role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    content: parts.map(encodePart),
  };
}

/** A part in the proto: the member that is set determines its kind. */
interface WirePart {
  readonly text?: string;
  readonly file?: WireFile;
  readonly data?: { readonly data: unknown };
  readonly metadata?: Metadata;
}

interface WireFile {
  readonly fileWithUri?: string;
  readonly fileWithBytes?: string;
  readonly mimeType?: string;
  readonly name?: string;
}

const checkPart = compileCheck(PART);

const PART_SHAPE = protoShape(["text", "file", "data", "metadata"]);

/** Decodes a part in this dialect or in that of JSON-RPC. The value is known to be an object. */
export function decodePart(value: object, field: string): A2APart {
  if ("kind" in value) return decodePart03(value, field);
  const named = readProtoFields(value, PART_SHAPE, field);
  checkPart(named, field);
  const { text, file, data, ...rest } = named as WirePart;
  if ([text, file, data].filter((content) => content !== undefined).length !== 1) {
    throw invalidParams(field, "must have exactly one of text, file, data");
  }
  if (text !== undefined) return withKind("text", { ...rest, text });
  if (data !== undefined) return unwrapData(withKind("data", { ...rest, data: data.data }));
  return withKind("file", { ...rest, file: decodeFile(file, `${field}.file`) });
}

const FILE_SHAPE = protoShape(["fileWithUri", "fileWithBytes", "mimeType", "name"]);

const checkFile = compileCheck(FILE);

function decodeFile(value: unknown, field: string): FileContent {
  const named = readProtoFields(value, FILE_SHAPE, field);
  checkFile(named, field);
  const { fileWithUri, fileWithBytes, ...rest } = named as WireFile;
  if ((fileWithUri === undefined) === (fileWithBytes === undefined)) {
    throw invalidParams(field, "must have exactly one of fileWithUri, fileWithBytes");
  }
  return {
    ...rest,
    ...(fileWithBytes !== undefined && {
      bytes: readBase64(fileWithBytes, `${field}.fileWithBytes`),
    }),
    ...(fileWithUri !== undefined && { uri: fileWithUri }),
  };
}

/** Encodes a part. Additions of 1.0 are handled as in the JSON-RPC dialect. */
export function encodePart(part: A2APart): WirePart {
  const old = encodeContent(part);
  switch (old.kind) {
    case "text": {
      const { kind: _, ...rest } = old;
      return rest;
    }
    case "data": {
      const { kind: _, data, ...rest } = old;
      return { ...rest, data: { data } };
    }
    case "file": {
      const { kind: _, file, ...rest } = old;
      return { ...rest, file: encodeFile(file) };
    }
    default:
      return old satisfies never;
  }
}

function encodeFile({ bytes, uri, ...rest }: FileContent): WireFile {
  return {
    ...(uri !== undefined && { fileWithUri: uri }),
    ...(bytes !== undefined && { fileWithBytes: bytes }),
    ...rest,
  };
}
