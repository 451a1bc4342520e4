import { isObject } from "../../internal/json.ts";
import { invalidParams } from "../../model/errors.ts";
import type { Message } from "../../model/message.ts";
import type { A2APart, DataPart, FilePart, TextPart } from "../../model/part.ts";
import { toolActivityType } from "../../extensions/tool-activity.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { readBase64, withKind } from "../codec/values.ts";
import { fromLegacyMessage } from "../legacy/messages.ts";
import { DATA_PART, FILE_PART, MESSAGE, TEXT_PART } from "./schemas.ts";

const check = compileCheck(MESSAGE);

const SHAPE = jsonShape([
  "kind",
  "messageId",
  "contextId",
  "taskId",
  "role",
  "parts",
  "metadata",
  "extensions",
  "referenceTaskIds",
]);

/** Decodes a message. */
export function decodeMessage(value: unknown, field: string): Message {
  const named = readProtoFields(value, SHAPE, field);
  check(named, field);
  const message = named as Message;
  const parts = message.parts.map((part, place) => decodePart(part, `${field}.parts[${place}]`));
  return withKind("message", { ...message, parts });
}

/** Decodes a message from a server, which may be in a legacy form and may have no id, role or parts. */
export function decodeSentMessage(value: unknown, field: string): Message {
  const message = fromLegacyMessage(value) as Message;
  if (message?.parts?.length === 0) return withKind("message", message);
  return decodeMessage(message, field);
}

/** Encodes a message. */
export function encodeMessage(message: Message): Message {
  if (message.parts.every(isSameIn03)) return message;
  return { ...message, parts: message.parts.map(encodePart) };
}

const CHECKS = {
  text: compileCheck(TEXT_PART),
  file: compileCheck(FILE_PART),
  data: compileCheck(DATA_PART),
};

const SHAPES = {
  text: jsonShape(["kind", "text", "metadata"]),
  file: jsonShape(["kind", "file", "metadata"]),
  data: jsonShape(["kind", "data", "metadata"]),
};

/** Decodes a part. The value is known to be an object. */
export function decodePart(sent: object, field: string): A2APart {
  const kind = (sent as { kind?: unknown }).kind;
  if (kind !== "text" && kind !== "file" && kind !== "data") {
    throw invalidParams(`${field}.kind`, "must be one of text, file, data");
  }
  const named = readProtoFields(sent, SHAPES[kind], field) as { readonly file?: unknown };
  const whole = kind === "file" ? withFile(named, `${field}.file`) : named;
  CHECKS[kind](whole, field);
  const part = withKind(kind, whole) as A2APart;
  if (part.kind === "file") return checkFileContent(part, field);
  if (part.kind === "data") return unwrapData(part);
  return part;
}

const TEXT_FIELDS = ["kind", "text"];

/** Whether the part is text without anything else, with its fields in this order. */
export function isOnlyText(part: object): boolean {
  let place = 0;
  for (const name in part) if (name !== TEXT_FIELDS[place++]) return false;
  const { kind, text } = part as Partial<TextPart>;
  return kind === "text" && typeof text === "string";
}

const FILE_SHAPE = jsonShape(["name", "mimeType", "bytes", "uri"]);

function withFile(part: { readonly file?: unknown }, field: string): object {
  return { ...part, file: readProtoFields(part.file, FILE_SHAPE, field) };
}

function checkFileContent(part: FilePart, field: string): FilePart {
  const { bytes, uri } = part.file;
  if ((bytes === undefined) === (uri === undefined)) {
    throw invalidParams(`${field}.file`, "must have exactly one of bytes, uri");
  }
  if (bytes === undefined) return part;
  return { ...part, file: { ...part.file, bytes: readBase64(bytes, `${field}.file.bytes`) } };
}

/** Unwraps other JSON values than objects: 0.3 has only objects, so the official SDKs wrap them this way. */
export function unwrapData(part: DataPart): DataPart {
  if (part.metadata?.["data_part_compat"] !== true) return part;
  // A part that is marked as wrapped but is not stays as it is.
  if (!Object.hasOwn(part.data as object, "value")) return part;
  const { data_part_compat: _, ...metadata } = part.metadata;
  const { metadata: __, ...rest } = part;
  const data = (part.data as { value?: unknown }).value;
  return Object.keys(metadata).length === 0 ? { ...rest, data } : { ...rest, data, metadata };
}

/** Encodes a part. Reports of tool calls have kinds of their own, which only this dialect can express. */
export function encodePart(part: A2APart): A2APart {
  if (isSameIn03(part)) return part;
  const activity = toolActivityType(part);
  if (activity === undefined) return encodeContent(part);
  const { data, metadata } = part as DataPart;
  return { kind: activity, ...(data as object), metadata } as unknown as A2APart;
}

/** The part in the terms of 0.3. The model has the form of 0.3, so only additions of 1.0 change. */
export function encodeContent(part: A2APart): A2APart {
  if (part.kind === "file") return part;
  const { mediaType: _, filename: __, ...rest } = part;
  if (rest.kind === "text" || isObject(rest.data)) return rest;
  return {
    ...rest,
    data: { value: rest.data },
    metadata: { ...rest.metadata, data_part_compat: true },
  };
}

/** Whether the part is the same in 0.3 as in the model. */
export function isSameIn03(part: A2APart): boolean {
  if (part.kind === "file") return true;
  if (part.mediaType !== undefined || part.filename !== undefined) return false;
  if (part.kind === "text") return true;
  return isObject(part.data) && toolActivityType(part) === undefined;
}
