import { type OperationName, type ProtocolVersion, REST_ROUTES } from "@convoke/protocol";
import { type JsonObject, isObject, textAt } from "./json.ts";

/** Where a call goes on REST: the params, divided among path, query and body. */
export interface RestPlace {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: JsonObject;
  readonly body?: unknown;
}

/** What a path names, and which params name it. */
interface Named {
  readonly taskId: string;
  readonly configId: string;
  readonly by: readonly string[];
}

/** The place of a call, by the table of its version. */
export function restPlace(
  version: ProtocolVersion,
  operation: OperationName,
  params: unknown,
): RestPlace {
  const { methods, paths } = REST_ROUTES[operation];
  const template: string = paths[version];
  const given = isObject(params) ? params : {};
  const { taskId, configId, by } = (version === "1.0" ? namedV1 : namedV03)(template, given);
  const path = template
    .replace("{taskId}", encodeURIComponent(taskId))
    .replace("{configId}", encodeURIComponent(configId));
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !by.includes(name)));
  const method = methods.find((each) => each === "POST") ?? methods[0];
  if (method !== "POST") return { method, path, query: rest };
  // In the proto of 0.3 the config is the whole body.
  const isConfig = version === "0.3" && operation === "createPushConfig";
  return { method, path, body: isConfig ? given["config"] : rest };
}

/** 1.0 §5.3: the id of a request is that of what its path ends with. */
function namedV1(template: string, params: JsonObject): Named {
  const [id, taskId] = [textAt(params, "id"), textAt(params, "taskId")];
  if (template.includes("{configId}")) return { taskId, configId: id, by: ["taskId", "id"] };
  if (template.endsWith("Configs")) return { taskId, configId: "", by: ["taskId"] };
  const by = template.includes("{taskId}") ? ["id"] : [];
  return { taskId: id, configId: "", by };
}

/** 0.3 §3.5.6: the names of resources are paths; what stands between their words is an id, slashes and all. */
function namedV03(_template: string, params: JsonObject): Named {
  const name = textAt(params, "name") || textAt(params, "parent");
  const [, taskId = "", configId = ""] =
    /^tasks\/([^/]*)(?:\/pushNotificationConfigs\/(.*))?$/s.exec(name) ?? [];
  return { taskId, configId, by: ["name", "parent"] };
}
