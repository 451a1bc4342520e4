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

/** 1.0 §4.1.4. Empty optional strings mean "unset" in ProtoJSON. */
export const MESSAGE: Schema = {
  type: "object",
  required: ["messageId", "role", "parts"],
  properties: {
    messageId: id,
    role: { enum: ["ROLE_USER", "ROLE_AGENT", 1, 2] },
    parts: { type: "array", minItems: 1, items: object },
    taskId: optionalId,
    contextId: optionalId,
    referenceTaskIds: ids,
    extensions: texts,
    metadata: object,
  },
};

/** 1.0 §3.2.1. */
export const SEND: Schema = {
  type: "object",
  required: ["message"],
  properties: {
    tenant: text,
    message: object,
    configuration: {
      type: "object",
      properties: {
        returnImmediately: { type: "boolean" },
        historyLength: count,
        acceptedOutputModes: texts,
        taskPushNotificationConfig: object,
      },
    },
    metadata: object,
  },
};

/** 1.0 §3.1.3; cancel and subscribe take the same without the length. */
export const TASK_QUERY: Schema = {
  type: "object",
  required: ["id"],
  properties: { tenant: text, id, historyLength: count, metadata: object },
};

/** 1.0 §3.1.4. In ProtoJSON a page size of 0 means unset; in plain JSON it was written and is rejected. */
export const LIST: Schema = {
  type: "object",
  properties: {
    tenant: text,
    contextId: optionalId,
    status: text,
    pageSize: { type: "integer", minimum: 1, maximum: 100 },
    pageToken: text,
    historyLength: count,
    statusTimestampAfter: text,
    includeArtifacts: { type: "boolean" },
  },
};

/**
 * 1.0 §4.3.1, plus additional headers. It is also the request that creates a config, where the
 * task is required. `checkPushTarget` checks the values.
 */
export const PUSH_TARGET: Schema = {
  type: "object",
  required: ["url"],
  properties: {
    tenant: text,
    id: optionalId,
    taskId: optionalId,
    url: { type: "string", minLength: 1, maxLength: 2048 },
    token: { type: "string", maxLength: 4096 },
    authentication: {
      type: "object",
      required: ["scheme"],
      properties: {
        scheme: { type: "string", minLength: 1, maxLength: 256 },
        credentials: { type: "string", maxLength: 16_384 },
      },
    },
    headers: object,
  },
};

export const CREATE_PUSH_CONFIG: Schema = {
  type: "object",
  required: ["taskId"],
  properties: { taskId: id },
};

/** 1.0 §3.1.8 and §3.1.10. */
export const PUSH_CONFIG_QUERY: Schema = {
  type: "object",
  required: ["taskId", "id"],
  properties: { tenant: text, taskId: id, id },
};

/** 1.0 §3.1.9. */
export const LIST_PUSH_CONFIGS: Schema = {
  type: "object",
  required: ["taskId"],
  properties: {
    tenant: text,
    taskId: id,
    pageSize: { type: "integer", minimum: 1, maximum: 100 },
    pageToken: text,
  },
};

/** 1.0 §4.1.6: exactly one of text, raw, url, data; that rule is in `part.ts`. */
export const PART: Schema = {
  type: "object",
  properties: {
    text,
    raw: text,
    url: filled,
    filename: text,
    mediaType: text,
    metadata: object,
  },
};
