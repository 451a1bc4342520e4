const text = { type: "string" } as const;
const id = { type: "string", minLength: 1 } as const;
const texts = { type: "array", items: text } as const;
const object = { type: "object" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** 0.3 §6.4. `kind` may be absent, as in the specification's own examples, but not wrong. */
export const MESSAGE = {
  type: "object",
  required: ["messageId", "role", "parts"],
  properties: {
    kind: { const: "message" },
    messageId: id,
    role: { enum: ["user", "agent"] },
    parts: { type: "array", minItems: 1, items: object },
    taskId: id,
    contextId: id,
    referenceTaskIds: texts,
    extensions: texts,
    metadata: object,
  },
} as const;

/** 0.3 §7.1.1. */
export const SEND = {
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
} as const;

/** 0.3 §7.3.1; `tasks/cancel` and `tasks/resubscribe` take the same without the length. */
export const TASK_QUERY = {
  type: "object",
  required: ["id"],
  properties: { id, historyLength: count, metadata: object },
} as const;

export const TASK_ID = id;

/** 0.3 §6.5. */
export const TEXT_PART = {
  type: "object",
  required: ["text"],
  properties: { text, metadata: object },
} as const;

export const FILE_PART = {
  type: "object",
  required: ["file"],
  properties: {
    file: {
      type: "object",
      properties: { name: text, mimeType: text, bytes: text, uri: id },
    },
    metadata: object,
  },
} as const;

export const DATA_PART = {
  type: "object",
  required: ["data"],
  properties: { data: object, metadata: object },
} as const;
