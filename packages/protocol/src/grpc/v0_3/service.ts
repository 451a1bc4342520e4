import { createService } from "../binary/service.ts";
import type { EnumTables, MessageTables, ProtoTables } from "../binary/wire-format.ts";
import { CARD_MESSAGES, cardFromProto, cardToProto } from "./card-messages.ts";

/** Tasks and their contents. Where the JSON says `message` and the proto another name, a comment has it. */
const TASK_MESSAGES = {
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

/** Requests, and the responses that are not tasks. */
const REQUEST_MESSAGES = {
  SendMessageRequest: {
    // `request`
    message: [1, "Message"],
    configuration: [2, "SendMessageConfiguration"],
    metadata: [3, "Struct"],
  },
  SendMessageConfiguration: {
    acceptedOutputModes: [1, "string", "repeated"],
    pushNotification: [2, "PushNotificationConfig"],
    historyLength: [3, "int32"],
    blocking: [4, "bool"],
  },
  GetTaskRequest: { name: [1, "string"], historyLength: [2, "int32"] },
  CancelTaskRequest: { name: [1, "string"] },
  TaskSubscriptionRequest: { name: [1, "string"] },
  CreateTaskPushNotificationConfigRequest: {
    parent: [1, "string"],
    configId: [2, "string"],
    config: [3, "TaskPushNotificationConfig"],
  },
  GetTaskPushNotificationConfigRequest: { name: [1, "string"] },
  DeleteTaskPushNotificationConfigRequest: { name: [1, "string"] },
  ListTaskPushNotificationConfigRequest: {
    parent: [1, "string"],
    pageSize: [2, "int32"],
    pageToken: [3, "string"],
  },
  ListTaskPushNotificationConfigResponse: {
    configs: [1, "TaskPushNotificationConfig", "repeated"],
    nextPageToken: [2, "string"],
  },
  TaskPushNotificationConfig: {
    name: [1, "string"],
    pushNotificationConfig: [2, "PushNotificationConfig"],
  },
  PushNotificationConfig: {
    id: [1, "string"],
    url: [2, "string"],
    token: [3, "string"],
    authentication: [4, "AuthenticationInfo"],
  },
  AuthenticationInfo: { schemes: [1, "string", "repeated"], credentials: [2, "string"] },
  GetAgentCardRequest: {},
  // google.protobuf.Empty
  Empty: {},
} as const satisfies MessageTables;

const ENUMS = {
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

/** Every message of the proto package. */
export const TABLES: ProtoTables = {
  messages: { ...TASK_MESSAGES, ...REQUEST_MESSAGES, ...CARD_MESSAGES },
  enums: ENUMS,
};

/** The service of 0.3. It cannot list tasks. */
export const serviceV03 = createService({
  version: "0.3",
  name: "a2a.v1.A2AService",
  tables: TABLES,
  rows: [
    {
      operation: "sendMessage",
      name: "SendMessage",
      request: "SendMessageRequest",
      response: "SendMessageResponse",
    },
    {
      operation: "sendStreamingMessage",
      name: "SendStreamingMessage",
      request: "SendMessageRequest",
      response: "StreamResponse",
    },
    { operation: "getTask", name: "GetTask", request: "GetTaskRequest", response: "Task" },
    { operation: "cancelTask", name: "CancelTask", request: "CancelTaskRequest", response: "Task" },
    {
      operation: "subscribeToTask",
      name: "TaskSubscription",
      request: "TaskSubscriptionRequest",
      response: "StreamResponse",
    },
    {
      operation: "createPushConfig",
      name: "CreateTaskPushNotificationConfig",
      request: "CreateTaskPushNotificationConfigRequest",
      response: "TaskPushNotificationConfig",
    },
    {
      operation: "getPushConfig",
      name: "GetTaskPushNotificationConfig",
      request: "GetTaskPushNotificationConfigRequest",
      response: "TaskPushNotificationConfig",
    },
    {
      operation: "listPushConfigs",
      name: "ListTaskPushNotificationConfig",
      request: "ListTaskPushNotificationConfigRequest",
      response: "ListTaskPushNotificationConfigResponse",
    },
    {
      operation: "deletePushConfig",
      name: "DeleteTaskPushNotificationConfig",
      request: "DeleteTaskPushNotificationConfigRequest",
      response: "Empty",
    },
    {
      operation: "getExtendedCard",
      name: "GetAgentCard",
      request: "GetAgentCardRequest",
      response: "AgentCard",
      toProto: cardToProto,
      fromProto: cardFromProto,
    },
  ],
});
