import type { MessageTables } from "../binary/table.ts";

export const REQUEST_MESSAGES = {
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
