import {
  type OperationName,
  type ProtocolVersion,
  REST_ROUTES,
  type RestRoute,
  type WireDialect,
} from "@convoke/protocol";
import type { JsonObject } from "@convoke/protocol/internal";
import type { QueryType } from "./read.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import { pathPattern } from "../../http/path-pattern.ts";

/** The decoded parameters of a path; empty if the path does not have them. */
export interface PathParams {
  readonly taskId: string;
  readonly configId: string;
}

/** The fields of the request object for the parameters of a path. */
type Naming = Readonly<
  Record<WireDialect, (names: PathParams) => Readonly<Record<string, string>>>
>;

/** An operation, its path, and how its request is read. */
export interface Route extends RestRoute {
  readonly operation: OperationName;
  readonly naming: Naming;
  /** The parameters of the query. */
  readonly query?: Readonly<Record<string, QueryType>>;
  /** Converts a body that is not the request object itself. */
  readonly shape?: Partial<Readonly<Record<WireDialect, (body: JsonObject) => JsonObject>>>;
  /** The status of a success without a body. */
  readonly empty?: 204;
}

const nothing: Naming = { "0.3": () => ({}), "0.3-proto": () => ({}), "1.0": () => ({}) };

const task: Naming = {
  "0.3": ({ taskId }) => ({ id: taskId }),
  "0.3-proto": ({ taskId }) => ({ name: `tasks/${taskId}` }),
  "1.0": ({ taskId }) => ({ id: taskId }),
};

const configs: Naming = {
  "0.3": ({ taskId }) => ({ taskId }),
  "0.3-proto": ({ taskId }) => ({ parent: `tasks/${taskId}` }),
  "1.0": ({ taskId }) => ({ taskId }),
};

const config: Naming = {
  "0.3": ({ taskId, configId }) => ({ id: taskId, pushNotificationConfigId: configId }),
  "0.3-proto": ({ taskId, configId }) => ({
    name: `tasks/${taskId}/pushNotificationConfigs/${configId}`,
  }),
  "1.0": ({ taskId, configId }) => ({ taskId, id: configId }),
};

/**
 * The REST binding on one page (0.3 §3.5.6, 1.0 §5.3). The first matching path is
 * used, so paths that end in a verb come before paths that end in a parameter.
 */
export const ROUTES: readonly Route[] = [
  {
    operation: "sendMessage",
    ...REST_ROUTES.sendMessage,
    naming: nothing,
  },
  {
    operation: "sendStreamingMessage",
    ...REST_ROUTES.sendStreamingMessage,
    naming: nothing,
  },
  {
    operation: "listTasks",
    ...REST_ROUTES.listTasks,
    naming: nothing,
    query: {
      contextId: "text",
      status: "text",
      pageSize: "integer",
      pageToken: "text",
      historyLength: "integer",
      statusTimestampAfter: "text",
      includeArtifacts: "boolean",
    },
  },
  {
    operation: "cancelTask",
    ...REST_ROUTES.cancelTask,
    naming: task,
  },
  {
    operation: "subscribeToTask",
    ...REST_ROUTES.subscribeToTask,
    naming: task,
  },
  {
    operation: "getTask",
    ...REST_ROUTES.getTask,
    naming: task,
    query: { historyLength: "integer" },
  },
  {
    operation: "createPushConfig",
    ...REST_ROUTES.createPushConfig,
    naming: configs,
    // In the proto of 0.3 the config is the body, and the rest of the request is in the query. The
    // text of 0.3 puts the config in `config`, as in the whole request.
    query: { configId: "text" },
    shape: { "0.3-proto": (body) => (Object.hasOwn(body, "config") ? body : { config: body }) },
  },
  {
    operation: "listPushConfigs",
    ...REST_ROUTES.listPushConfigs,
    naming: configs,
    query: { pageSize: "integer", pageToken: "text" },
  },
  {
    operation: "getPushConfig",
    ...REST_ROUTES.getPushConfig,
    naming: config,
  },
  {
    operation: "deletePushConfig",
    ...REST_ROUTES.deletePushConfig,
    naming: config,
    empty: 204,
  },
  {
    operation: "getExtendedCard",
    ...REST_ROUTES.getExtendedCard,
    naming: nothing,
  },
];

/** A request whose path belongs to this binding. */
export interface MatchedRest {
  readonly request: HttpRequest;
  readonly version: ProtocolVersion;
  /** Absent if the path does not support the method. */
  readonly route: Route | undefined;
  readonly methods: readonly string[];
  /** The parameters of the path, still percent-encoded. */
  readonly encoded: Readonly<Record<string, string | undefined>>;
}

/** A path and its routes. */
interface PathRoutes {
  readonly version: ProtocolVersion;
  readonly pattern: RegExp;
  readonly routes: readonly Route[];
}

/** Finds the route of a request. Returns `undefined` if this binding does not have the path. */
export function matchRest(request: HttpRequest): MatchedRest | undefined {
  for (const { version, pattern, routes } of PATHS) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    return {
      request,
      version,
      route: routes.find(({ methods }) => (methods as readonly string[]).includes(request.method)),
      methods: routes.flatMap(({ methods }) => methods),
      encoded: { ...match.groups },
    };
  }
  return undefined;
}

/** The first segments of the server's own paths, which no tenant may have as its name. */
export const RESERVED_NAMES: readonly string[] = [
  ".well-known",
  "a2a",
  "agents",
  "api",
  "console",
  "convoke",
  "executeCommand",
  "extendedAgentCard",
  "health",
  "listCommands",
  "message",
  "metrics",
  "openapi.json",
  "ready",
  "tasks",
  "v1",
];

const RESERVED = RESERVED_NAMES.map((name) => `${name.replaceAll(".", "\\.")}/`).join("|");

const TENANT = `/(?<tenant>(?!${RESERVED})[^/]+)`;

/** 0.3 before 1.0, and paths without a tenant before those with one. */
const PATHS: readonly PathRoutes[] = [
  ...pathsFor("0.3", ""),
  ...pathsFor("1.0", ""),
  ...pathsFor("1.0", TENANT),
];

function pathsFor(version: ProtocolVersion, prefix: string): readonly PathRoutes[] {
  const byPath = Map.groupBy(ROUTES, ({ paths }) => paths[version]);
  return [...byPath].map(([path, routes]) => ({
    version,
    pattern: pathPattern(path, prefix),
    routes,
  }));
}
