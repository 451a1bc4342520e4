const text = { type: "string" } as const;
const id = { type: "string", minLength: 1 } as const;
const texts = { type: "array", items: text } as const;
const object = { type: "object" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** Empty optional strings mean "unset" in ProtoJSON; `referenceTaskIds` is taken although the proto lacks it. */
export const MESSAGE = {
  type: "object",
  required: ["messageId", "role", "content"],
  properties: {
    messageId: id,
    role: { enum: ["ROLE_USER", "ROLE_AGENT", 1, 2] },
    content: { type: "array", minItems: 1, items: object },
    taskId: text,
    contextId: text,
    referenceTaskIds: texts,
    extensions: texts,
    metadata: object,
  },
} as const;

/** Exactly one of text, file, data; that rule is in `part.ts`. */
export const PART = {
  type: "object",
  properties: {
    text,
    file: object,
    data: { type: "object", required: ["data"], properties: { data: object } },
    metadata: object,
  },
} as const;

/** Exactly one of fileWithUri, fileWithBytes; that rule is in `part.ts`. */
export const FILE = {
  type: "object",
  properties: { fileWithUri: id, fileWithBytes: text, mimeType: text, name: text },
} as const;

export const SEND = {
  type: "object",
  required: ["message"],
  properties: { message: object, configuration: object, metadata: object },
} as const;

export const CONFIGURATION = {
  type: "object",
  properties: {
    blocking: { type: "boolean" },
    historyLength: count,
    acceptedOutputModes: texts,
    pushNotification: object,
  },
} as const;

/** GetTaskRequest; cancel, subscribe and the configs take the same without the length. */
export const NAMED = {
  type: "object",
  required: ["name"],
  properties: { name: text, historyLength: count },
} as const;

export const CREATE_PUSH_CONFIG = {
  type: "object",
  required: ["parent", "config"],
  properties: { parent: text, configId: { type: "string", maxLength: 256 }, config: object },
} as const;

/** A page size of 0 is unset. */
export const LIST_PUSH_CONFIGS = {
  type: "object",
  required: ["parent"],
  properties: {
    parent: text,
    pageSize: { type: "integer", minimum: 0, maximum: 100 },
    pageToken: text,
  },
} as const;
