import { createService } from "../binary/service.ts";
import type { EnumTables, MessageTables, ProtoTables } from "../binary/wire-format.ts";
import { CARD_MESSAGES } from "./card-messages.ts";

/** Tasks and their contents. */
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
    message: [2, "Message"],
    timestamp: [3, "Timestamp"],
  },
  Part: {
    text: [1, "string", "oneof content"],
    raw: [2, "bytes", "oneof content"],
    url: [3, "string", "oneof content"],
    data: [4, "Value", "oneof content"],
    metadata: [5, "Struct"],
    filename: [6, "string"],
    mediaType: [7, "string"],
  },
  Message: {
    messageId: [1, "string"],
    contextId: [2, "string"],
    taskId: [3, "string"],
    role: [4, "Role"],
    parts: [5, "Part", "repeated"],
    metadata: [6, "Struct"],
    extensions: [7, "string", "repeated"],
    referenceTaskIds: [8, "string", "repeated"],
  },
  Artifact: {
    artifactId: [1, "string"],
    name: [2, "string"],
    description: [3, "string"],
    parts: [4, "Part", "repeated"],
    metadata: [5, "Struct"],
    extensions: [6, "string", "repeated"],
  },
  TaskStatusUpdateEvent: {
    taskId: [1, "string"],
    contextId: [2, "string"],
    status: [3, "TaskStatus"],
    metadata: [4, "Struct"],
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
    message: [2, "Message", "oneof payload"],
  },
  StreamResponse: {
    task: [1, "Task", "oneof payload"],
    message: [2, "Message", "oneof payload"],
    statusUpdate: [3, "TaskStatusUpdateEvent", "oneof payload"],
    artifactUpdate: [4, "TaskArtifactUpdateEvent", "oneof payload"],
  },
} as const satisfies MessageTables;

/** Requests, and the responses that are not tasks. */
const REQUEST_MESSAGES = {
  SendMessageRequest: {
    tenant: [1, "string"],
    message: [2, "Message"],
    configuration: [3, "SendMessageConfiguration"],
    metadata: [4, "Struct"],
  },
  SendMessageConfiguration: {
    acceptedOutputModes: [1, "string", "repeated"],
    taskPushNotificationConfig: [2, "TaskPushNotificationConfig"],
    historyLength: [3, "int32", "optional"],
    returnImmediately: [4, "bool"],
  },
  GetTaskRequest: {
    tenant: [1, "string"],
    id: [2, "string"],
    historyLength: [3, "int32", "optional"],
  },
  ListTasksRequest: {
    tenant: [1, "string"],
    contextId: [2, "string"],
    status: [3, "TaskState"],
    pageSize: [4, "int32", "optional"],
    pageToken: [5, "string"],
    historyLength: [6, "int32", "optional"],
    statusTimestampAfter: [7, "Timestamp"],
    includeArtifacts: [8, "bool", "optional"],
  },
  ListTasksResponse: {
    tasks: [1, "Task", "repeated"],
    nextPageToken: [2, "string"],
    pageSize: [3, "int32"],
    totalSize: [4, "int32"],
  },
  CancelTaskRequest: { tenant: [1, "string"], id: [2, "string"], metadata: [3, "Struct"] },
  SubscribeToTaskRequest: { tenant: [1, "string"], id: [2, "string"] },
  GetTaskPushNotificationConfigRequest: {
    tenant: [1, "string"],
    taskId: [2, "string"],
    id: [3, "string"],
  },
  DeleteTaskPushNotificationConfigRequest: {
    tenant: [1, "string"],
    taskId: [2, "string"],
    id: [3, "string"],
  },
  ListTaskPushNotificationConfigsRequest: {
    taskId: [1, "string"],
    pageSize: [2, "int32"],
    pageToken: [3, "string"],
    tenant: [4, "string"],
  },
  ListTaskPushNotificationConfigsResponse: {
    configs: [1, "TaskPushNotificationConfig", "repeated"],
    nextPageToken: [2, "string"],
  },
  TaskPushNotificationConfig: {
    tenant: [1, "string"],
    id: [2, "string"],
    taskId: [3, "string"],
    url: [4, "string"],
    token: [5, "string"],
    authentication: [6, "AuthenticationInfo"],
  },
  AuthenticationInfo: { scheme: [1, "string"], credentials: [2, "string"] },
  GetExtendedAgentCardRequest: { tenant: [1, "string"] },
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
    "TASK_STATE_CANCELED",
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

/** The service of 1.0 (§10). */
export const serviceV1 = createService({
  version: "1.0",
  name: "lf.a2a.v1.A2AService",
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
    {
      operation: "listTasks",
      name: "ListTasks",
      request: "ListTasksRequest",
      response: "ListTasksResponse",
    },
    { operation: "cancelTask", name: "CancelTask", request: "CancelTaskRequest", response: "Task" },
    {
      operation: "subscribeToTask",
      name: "SubscribeToTask",
      request: "SubscribeToTaskRequest",
      response: "StreamResponse",
    },
    {
      operation: "createPushConfig",
      name: "CreateTaskPushNotificationConfig",
      request: "TaskPushNotificationConfig",
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
      name: "ListTaskPushNotificationConfigs",
      request: "ListTaskPushNotificationConfigsRequest",
      response: "ListTaskPushNotificationConfigsResponse",
    },
    {
      operation: "deletePushConfig",
      name: "DeleteTaskPushNotificationConfig",
      request: "DeleteTaskPushNotificationConfigRequest",
      response: "Empty",
    },
    {
      operation: "getExtendedCard",
      name: "GetExtendedAgentCard",
      request: "GetExtendedAgentCardRequest",
      response: "AgentCard",
    },
  ],
});
