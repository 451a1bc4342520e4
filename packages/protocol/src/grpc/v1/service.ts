import { createService } from "../binary/service.ts";
import type { ProtoTables } from "../binary/wire-format.ts";
import { CARD_MESSAGES } from "./card-messages.ts";
import { ENUMS, REQUEST_MESSAGES, TASK_MESSAGES } from "./messages.ts";

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
