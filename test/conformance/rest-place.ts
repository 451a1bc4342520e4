import type { OperationName } from "@convoke/protocol";

/** Where a call goes on REST: the request object, divided among path, query and body. */
export interface RestPlace {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: object;
  readonly body?: object;
}

type Names = Readonly<Record<string, string>>;

/** The table of 1.0 §5.3. */
export function placeV1(operation: OperationName, params: object): RestPlace {
  const { id = "", taskId = "" } = params as Names;
  const task = `/tasks/${encodeURIComponent(id)}`;
  const configs = `/tasks/${encodeURIComponent(taskId)}/pushNotificationConfigs`;
  switch (operation) {
    case "sendMessage":
      return { method: "POST", path: "/message:send", body: params };
    case "sendStreamingMessage":
      return { method: "POST", path: "/message:stream", body: params };
    case "getTask":
      return { method: "GET", path: task, query: without(params, "id") };
    case "listTasks":
      return { method: "GET", path: "/tasks", query: params };
    case "cancelTask":
      return { method: "POST", path: `${task}:cancel`, body: without(params, "id") };
    case "subscribeToTask":
      return { method: "POST", path: `${task}:subscribe`, body: without(params, "id") };
    case "createPushConfig":
      return { method: "POST", path: configs, body: without(params, "taskId") };
    case "listPushConfigs":
      return { method: "GET", path: configs, query: without(params, "taskId") };
    case "getPushConfig":
      return { method: "GET", path: `${configs}/${encodeURIComponent(id)}` };
    case "deletePushConfig":
      return { method: "DELETE", path: `${configs}/${encodeURIComponent(id)}` };
    case "getExtendedCard":
      return { method: "GET", path: "/extendedAgentCard" };
    default:
      return operation satisfies never;
  }
}

/** The table of 0.3 §3.5.6, whose resource names are the paths. */
export function placeV03(operation: OperationName, params: object): RestPlace {
  const { name = "", parent = "", configId } = params as Names;
  const named = `/v1/${encodeName(name)}`;
  const configs = `/v1/${encodeName(parent)}/pushNotificationConfigs`;
  switch (operation) {
    case "sendMessage":
      return { method: "POST", path: "/v1/message:send", body: params };
    case "sendStreamingMessage":
      return { method: "POST", path: "/v1/message:stream", body: params };
    case "getTask":
      return { method: "GET", path: named, query: without(params, "name") };
    case "listTasks":
      return { method: "GET", path: "/v1/tasks", query: params };
    case "cancelTask":
      return { method: "POST", path: `${named}:cancel`, body: {} };
    case "subscribeToTask":
      return { method: "POST", path: `${named}:subscribe`, body: {} };
    case "createPushConfig":
      return {
        method: "POST",
        path: configs,
        query: configId === undefined ? {} : { configId },
        body: (params as { readonly config: object }).config,
      };
    case "listPushConfigs":
      return { method: "GET", path: configs, query: without(params, "parent") };
    case "getPushConfig":
      return { method: "GET", path: named };
    case "deletePushConfig":
      return { method: "DELETE", path: named };
    case "getExtendedCard":
      return { method: "GET", path: "/v1/card" };
    default:
      return operation satisfies never;
  }
}

/** A resource name as a path: what stands between its own words is an id, slashes and all. */
function encodeName(name: string): string {
  const [, taskId = "", configId] =
    /^tasks\/([^/]*)(?:\/pushNotificationConfigs\/(.*))?$/s.exec(name) ?? [];
  const task = `tasks/${encodeURIComponent(taskId)}`;
  if (configId === undefined) return task;
  return `${task}/pushNotificationConfigs/${encodeURIComponent(configId)}`;
}

function without(params: object, name: string): object {
  return Object.fromEntries(Object.entries(params).filter(([key]) => key !== name));
}
