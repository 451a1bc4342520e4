import { randomUUID } from "node:crypto";
import { type RpcAnswer, call } from "../engine/a-server.ts";

/** The two ways to write the same request to a server that pushes. */
export interface PushDialect {
  readonly version: "0.3" | "1.0";
  send(url: string, target: object, more?: object): Promise<RpcAnswer>;
  set(url: string, taskId: string, target: object): Promise<RpcAnswer>;
  get(url: string, taskId: string, id: string): Promise<RpcAnswer>;
  list(url: string, taskId: string): Promise<RpcAnswer>;
  remove(url: string, taskId: string, id: string): Promise<RpcAnswer>;
}

export const PUSH_DIALECTS: readonly PushDialect[] = [
  {
    version: "0.3",
    send: (url, target, more = {}) =>
      call(url, "message/send", {
        message: {
          messageId: randomUUID(),
          role: "user",
          parts: [{ kind: "text", text: "go" }],
          ...more,
        },
        configuration: { blocking: false, pushNotificationConfig: target },
      }),
    set: (url, taskId, target) =>
      call(url, "tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig: target }),
    get: (url, taskId, id) =>
      call(url, "tasks/pushNotificationConfig/get", { id: taskId, pushNotificationConfigId: id }),
    list: (url, taskId) => call(url, "tasks/pushNotificationConfig/list", { id: taskId }),
    remove: (url, taskId, id) =>
      call(url, "tasks/pushNotificationConfig/delete", {
        id: taskId,
        pushNotificationConfigId: id,
      }),
  },
  {
    version: "1.0",
    send: (url, target, more = {}) =>
      call(url, "SendMessage", {
        message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }], ...more },
        configuration: { returnImmediately: true, taskPushNotificationConfig: target },
      }),
    set: (url, taskId, target) =>
      call(url, "CreateTaskPushNotificationConfig", { taskId, ...target }),
    get: (url, taskId, id) => call(url, "GetTaskPushNotificationConfig", { taskId, id }),
    list: (url, taskId) => call(url, "ListTaskPushNotificationConfigs", { taskId }),
    remove: (url, taskId, id) => call(url, "DeleteTaskPushNotificationConfig", { taskId, id }),
  },
];

/** The id of the task that a send returned, in either version. */
export function taskIdOf({ result, error }: RpcAnswer): string {
  if (error !== undefined) throw new Error(error.message);
  const { id, task } = result as { id?: string; task?: { id: string } };
  return task?.id ?? id ?? "";
}
