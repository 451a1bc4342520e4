import type { MessageTables } from "../binary/table.ts";

export const REQUEST_MESSAGES = {
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
