import { createService } from "../binary/service.ts";
import { TABLES } from "./tables.gen.ts";

/** The service of 1.0 (§10). */
export const serviceV1 = createService({
  version: "1.0",
  tables: TABLES,
  rpcs: {
    sendMessage: "SendMessage",
    sendStreamingMessage: "SendStreamingMessage",
    getTask: "GetTask",
    listTasks: "ListTasks",
    cancelTask: "CancelTask",
    subscribeToTask: "SubscribeToTask",
    createPushConfig: "CreateTaskPushNotificationConfig",
    getPushConfig: "GetTaskPushNotificationConfig",
    listPushConfigs: "ListTaskPushNotificationConfigs",
    deletePushConfig: "DeleteTaskPushNotificationConfig",
    getExtendedCard: "GetExtendedAgentCard",
  },
});
