import {
  type ObjectSchema,
  type Schema,
  count,
  filled,
  id,
  ids,
  object,
  text,
  texts,
} from "../../schema/schema.ts";

/** 0.3 §6.4. `kind` may be absent, as in the specification's own examples, but not wrong. */
export const MESSAGE: Schema = {
  type: "object",
  required: ["messageId", "role", "parts"],
  properties: {
    kind: { const: "message" },
    messageId: id,
    role: { enum: ["user", "agent"] },
    parts: { type: "array", minItems: 1, items: object },
    taskId: id,
    contextId: id,
    referenceTaskIds: ids,
    extensions: texts,
    metadata: object,
  },
};

/** 0.3 §7.1.1. */
export const SEND: Schema = {
  type: "object",
  required: ["message"],
  properties: {
    message: object,
    configuration: {
      type: "object",
      properties: {
        blocking: { type: "boolean" },
        historyLength: count,
        acceptedOutputModes: texts,
        pushNotificationConfig: object,
      },
    },
    metadata: object,
  },
};

/** 0.3 §7.3.1; `tasks/cancel` and `tasks/resubscribe` take the same without the length. */
export const TASK_QUERY: Schema = {
  type: "object",
  required: ["id"],
  properties: { id, historyLength: count, metadata: object },
};

export const TASK_ID: Schema = id;

/** 0.3 §6.8, plus additional headers. `checkPushTarget` checks the values. */
export const PUSH_TARGET: Schema = {
  type: "object",
  required: ["url"],
  properties: {
    id,
    url: { type: "string", minLength: 1, maxLength: 2048 },
    token: { type: "string", maxLength: 4096 },
    authentication: {
      type: "object",
      required: ["schemes"],
      properties: {
        schemes: {
          type: "array",
          minItems: 1,
          maxItems: 20,
          items: { type: "string", minLength: 1, maxLength: 256 },
        },
        credentials: { type: "string", maxLength: 16_384 },
      },
    },
    headers: object,
  },
};

/** 0.3 §6.10. */
export const CREATE_PUSH_CONFIG: Schema = {
  type: "object",
  required: ["taskId", "pushNotificationConfig"],
  properties: { taskId: id, pushNotificationConfig: object },
};

/** 0.3 §7.6.1: the id of the config is optional. */
export const GET_PUSH_CONFIG: ObjectSchema = {
  type: "object",
  properties: { pushNotificationConfigId: id },
};

/** 0.3 §7.8.1: the id of the config is required. */
export const DELETE_PUSH_CONFIG: ObjectSchema = {
  ...GET_PUSH_CONFIG,
  required: ["pushNotificationConfigId"],
};

/** 0.3 §6.5. */
export const TEXT_PART: Schema = {
  type: "object",
  required: ["text"],
  properties: { text, metadata: object },
};

export const FILE_PART: Schema = {
  type: "object",
  required: ["file"],
  properties: {
    file: {
      type: "object",
      properties: { name: text, mimeType: text, bytes: text, uri: filled },
    },
    metadata: object,
  },
};

export const DATA_PART: Schema = {
  type: "object",
  required: ["data"],
  properties: { data: object, metadata: object },
};
