import type { EnumTables, MessageTables } from "../binary/table.ts";

/** Tasks, and what they are made of. `message` in the JSON is called otherwise in the proto: see the comments. */
export const TASK_MESSAGES = {
  Task: {
    id: [1, "string"],
    contextId: [2, "string"],
    status: [3, "TaskStatus"],
    artifacts: [4, "Artifact", "repeated"],
    history: [5, "Message", "repeated"],
    metadata: [6, "Struct"],
  },
  TaskStatus: {
    state: [1, "TaskState"],
    // `update`
    message: [2, "Message"],
    timestamp: [3, "Timestamp"],
  },
  Part: {
    text: [1, "string", "oneof part"],
    file: [2, "FilePart", "oneof part"],
    data: [3, "DataPart", "oneof part"],
    metadata: [4, "Struct"],
  },
  FilePart: {
    fileWithUri: [1, "string", "oneof file"],
    fileWithBytes: [2, "bytes", "oneof file"],
    mimeType: [3, "string"],
    name: [4, "string"],
  },
  DataPart: { data: [1, "Struct"] },
  Message: {
    messageId: [1, "string"],
    contextId: [2, "string"],
    taskId: [3, "string"],
    role: [4, "Role"],
    content: [5, "Part", "repeated"],
    metadata: [6, "Struct"],
    extensions: [7, "string", "repeated"],
  },
  Artifact: {
    artifactId: [1, "string"],
    name: [3, "string"],
    description: [4, "string"],
    parts: [5, "Part", "repeated"],
    metadata: [6, "Struct"],
    extensions: [7, "string", "repeated"],
  },
  TaskStatusUpdateEvent: {
    taskId: [1, "string"],
    contextId: [2, "string"],
    status: [3, "TaskStatus"],
    final: [4, "bool"],
    metadata: [5, "Struct"],
  },
  TaskArtifactUpdateEvent: {
    taskId: [1, "string"],
    contextId: [2, "string"],
    artifact: [3, "Artifact"],
    append: [4, "bool"],
    lastChunk: [5, "bool"],
    metadata: [6, "Struct"],
  },
  SendMessageResponse: {
    task: [1, "Task", "oneof payload"],
    // `msg`
    message: [2, "Message", "oneof payload"],
  },
  StreamResponse: {
    task: [1, "Task", "oneof payload"],
    // `msg`
    message: [2, "Message", "oneof payload"],
    statusUpdate: [3, "TaskStatusUpdateEvent", "oneof payload"],
    artifactUpdate: [4, "TaskArtifactUpdateEvent", "oneof payload"],
  },
} as const satisfies MessageTables;

export const ENUMS = {
  TaskState: [
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELLED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
  ],
  Role: ["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"],
} as const satisfies EnumTables;
