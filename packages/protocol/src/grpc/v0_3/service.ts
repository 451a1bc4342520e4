import { createService } from "../binary/service.ts";
import { cardFromProto, cardToProto } from "./card-conversion.ts";
import { TABLES } from "./tables.gen.ts";

/** The service of 0.3. It cannot list tasks. */
export const serviceV03 = createService({
  version: "0.3",
  tables: TABLES,
  rpcs: {
    sendMessage: "SendMessage",
    sendStreamingMessage: "SendStreamingMessage",
    getTask: "GetTask",
    cancelTask: "CancelTask",
    subscribeToTask: "TaskSubscription",
    createPushConfig: "CreateTaskPushNotificationConfig",
    getPushConfig: "GetTaskPushNotificationConfig",
    listPushConfigs: "ListTaskPushNotificationConfig",
    deletePushConfig: "DeleteTaskPushNotificationConfig",
    getExtendedCard: "GetAgentCard",
  },
  converters: { getExtendedCard: { toProto: cardToProto, fromProto: cardFromProto } },
});
