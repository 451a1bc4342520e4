import type { OperationName, ProtocolVersion } from "@convoke/protocol";
import { type JsonObject, isObject, textAt } from "./json.ts";

/** Where a call goes on REST: the params, divided among path, query and body. */
export interface RestPlace {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: JsonObject;
  readonly body?: unknown;
}

/** The place of a call, by the table of its version. */
export function restPlace(
  version: ProtocolVersion,
  operation: OperationName,
  params: unknown,
): RestPlace {
  return (version === "1.0" ? placeV1 : placeV03)(operation, isObject(params) ? params : {});
}

/** 1.0 §5.3. */
function placeV1(operation: OperationName, params: JsonObject): RestPlace {
  const id = encodeURIComponent(textAt(params, "id"));
  const configs = `/tasks/${encodeURIComponent(textAt(params, "taskId"))}/pushNotificationConfigs`;
  switch (operation) {
    case "sendMessage":
      return { method: "POST", path: "/message:send", body: params };
    case "sendStreamingMessage":
      return { method: "POST", path: "/message:stream", body: params };
    case "getTask":
      return { method: "GET", path: `/tasks/${id}`, query: without(params, "id") };
    case "listTasks":
      return { method: "GET", path: "/tasks", query: params };
    case "cancelTask":
      return { method: "POST", path: `/tasks/${id}:cancel`, body: without(params, "id") };
    case "subscribeToTask":
      return { method: "POST", path: `/tasks/${id}:subscribe`, body: without(params, "id") };
    case "createPushConfig":
      return { method: "POST", path: configs, body: without(params, "taskId") };
    case "listPushConfigs":
      return { method: "GET", path: configs, query: without(params, "taskId") };
    case "getPushConfig":
      return { method: "GET", path: `${configs}/${id}` };
    case "deletePushConfig":
      return { method: "DELETE", path: `${configs}/${id}` };
    case "getExtendedCard":
      return { method: "GET", path: "/extendedAgentCard" };
    default:
      return operation satisfies never;
  }
}

/** 0.3 §3.5.6, where the names of resources are paths. */
function placeV03(operation: OperationName, params: JsonObject): RestPlace {
  const named = `/v1/${encodeName(textAt(params, "name"))}`;
  const configs = `/v1/${encodeName(textAt(params, "parent"))}/pushNotificationConfigs`;
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
      return { method: "POST", path: configs, body: params["config"] };
    case "listPushConfigs":
      return { method: "GET", path: configs };
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

/** A name as a path: what stands between its own words is an id, slashes and all. */
function encodeName(name: string): string {
  const [, taskId = "", configId] =
    /^tasks\/([^/]*)(?:\/pushNotificationConfigs\/(.*))?$/s.exec(name) ?? [];
  const task = `tasks/${encodeURIComponent(taskId)}`;
  if (configId === undefined) return task;
  return `${task}/pushNotificationConfigs/${encodeURIComponent(configId)}`;
}

function without(params: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(params).filter(([key]) => key !== name));
}
