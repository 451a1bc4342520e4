import {
  type Schema,
  count,
  filled,
  id,
  ids,
  object,
  optionalId,
  text,
  texts,
} from "../../schema/schema.ts";

/** Empty optional strings mean "unset" in ProtoJSON; `referenceTaskIds` is accepted although the proto lacks it. */
export const MESSAGE: Schema = {
  type: "object",
  required: ["messageId", "role", "content"],
  properties: {
    messageId: id,
    role: { enum: ["ROLE_USER", "ROLE_AGENT", 1, 2] },
    content: { type: "array", minItems: 1, items: object },
    taskId: optionalId,
    contextId: optionalId,
    referenceTaskIds: ids,
    extensions: texts,
    metadata: object,
  },
};

/** Exactly one of text, file, data; that rule is in `part.ts`. */
export const PART: Schema = {
  type: "object",
  properties: {
    text,
    file: object,
    data: { type: "object", required: ["data"], properties: { data: object } },
    metadata: object,
  },
};

/** Exactly one of fileWithUri, fileWithBytes; that rule is in `part.ts`. */
export const FILE: Schema = {
  type: "object",
  properties: { fileWithUri: filled, fileWithBytes: text, mimeType: text, name: text },
};

export const SEND: Schema = {
  type: "object",
  required: ["message"],
  properties: { message: object, configuration: object, metadata: object },
};

export const CONFIGURATION: Schema = {
  type: "object",
  properties: {
    blocking: { type: "boolean" },
    historyLength: count,
    acceptedOutputModes: texts,
    pushNotification: object,
  },
};

/** GetTaskRequest; cancel, subscribe and the configs take the same without the length. */
export const NAMED: Schema = {
  type: "object",
  required: ["name"],
  properties: { name: text, historyLength: count },
};

export const CREATE_PUSH_CONFIG: Schema = {
  type: "object",
  required: ["parent", "config"],
  properties: { parent: text, configId: optionalId, config: object },
};

/** A page size of 0 is unset. */
export const LIST_PUSH_CONFIGS: Schema = {
  type: "object",
  required: ["parent"],
  properties: {
    parent: text,
    pageSize: { type: "integer", minimum: 0, maximum: 100 },
    pageToken: text,
  },
};
