import {
  type OperationName,
  type ProtocolVersion,
  REST_ROUTES,
  type RestRoute,
} from "@convoke/protocol";

/** A request of the REST binding, below the address of the interface. */
export interface RestRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

type Fields = Readonly<Record<string, unknown>>;

export interface RestRequestOptions {
  readonly operation: OperationName;
  readonly version: ProtocolVersion;
  /** In the words of the codec. */
  readonly params: unknown;
  readonly tenant?: string | undefined;
  /** Where there are two; by default the one that the text of the versions names. */
  readonly method?: "GET" | "POST";
}

/** Spreads a request object over path, query and body (0.3 §3.5.6, 1.0 §11.3). */
export function restRequest(options: RestRequestOptions): RestRequest {
  const { operation, version, params, tenant } = options;
  const { methods, paths }: RestRoute = REST_ROUTES[operation];
  const method = options.method ?? (methods.includes("POST") ? "POST" : (methods[0] ?? "GET"));
  const { names, rest } = split(operation, version, (params ?? {}) as Fields);
  const filled = paths[version].replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(names[name] ?? ""),
  );
  const path = tenant === undefined ? filled : `/${encodeURIComponent(tenant)}${filled}`;
  if (method === "POST") return { method, path, body: rest };
  return { method, path: `${path}${queryOf(rest)}` };
}

interface Split {
  /** What the path names. */
  readonly names: Readonly<Record<string, string>>;
  readonly rest: Fields;
}

/** Takes out of a request what its path says already. */
function split(operation: OperationName, version: ProtocolVersion, params: Fields): Split {
  if (version === "0.3") return splitNames(operation, params);
  const { id, taskId, ...rest } = params as { readonly id?: string; readonly taskId?: string };
  switch (operation) {
    case "getTask":
    case "cancelTask":
    case "subscribeToTask":
      return { names: { taskId: id ?? "" }, rest };
    case "createPushConfig":
      return {
        names: { taskId: taskId ?? "" },
        rest: { ...(id !== undefined && { id }), ...rest },
      };
    case "listPushConfigs":
    case "getPushConfig":
    case "deletePushConfig":
      return { names: { taskId: taskId ?? "", configId: id ?? "" }, rest };
    default:
      return { names: {}, rest: params };
  }
}

/** An id of a config may hold anything, also a slash. */
const NAME = /^tasks\/([^/]*)(?:\/pushNotificationConfigs\/(.*))?$/s;

/** 0.3 calls things by resource names: `tasks/{taskId}/pushNotificationConfigs/{configId}`. */
function splitNames(operation: OperationName, params: Fields): Split {
  const { name, parent, ...rest } = params;
  const [, taskId = "", configId = ""] = NAME.exec(String(name ?? parent)) ?? [];
  // Its servers read the whole request here, or what is below `config`.
  const isCreate = operation === "createPushConfig";
  return { names: { taskId, configId }, rest: isCreate ? params : rest };
}

/** 1.0 §11.5: camelCase, and what is unset is left out. */
function queryOf(fields: Fields): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    query.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}
