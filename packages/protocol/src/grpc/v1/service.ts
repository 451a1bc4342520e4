import { serviceOf } from "../service.ts";
import { TABLES } from "./tables.ts";

/** The service of 1.0 (§10). */
export const serviceV1 = serviceOf({
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
