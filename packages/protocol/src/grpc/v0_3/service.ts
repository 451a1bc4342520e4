import { createService } from "../binary/service.ts";
import type { ProtoTables } from "../binary/wire-format.ts";
import { CARD_MESSAGES, cardFromProto, cardToProto } from "./card-messages.ts";
import { ENUMS, REQUEST_MESSAGES, TASK_MESSAGES } from "./messages.ts";

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
