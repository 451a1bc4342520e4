import type { OperationName, ProtocolVersion, WireDialect } from "@convoke/protocol";
import type { QueryType } from "./query.ts";

/** A JSON object of which nothing else is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a path names, decoded; empty where it names nothing of the kind. */
export interface PathNames {
  readonly taskId: string;
  readonly configId: string;
}

/** How the things that a path names are called in a request object. */
type Naming = Readonly<Record<WireDialect, (names: PathNames) => Readonly<Record<string, string>>>>;

/** One operation, and where it is. */
export interface Route {
  readonly operation: OperationName;
  readonly methods: readonly ("GET" | "POST" | "DELETE")[];
  /** 1.0 has each path below a tenant, too. */
  readonly paths: Readonly<Record<ProtocolVersion, string>>;
  readonly naming: Naming;
  /** The parameters that are taken from the query. */
  readonly query?: Readonly<Record<string, QueryType>>;
  /** How a body becomes a request object, where it is not one already. */
  readonly shape?: Partial<Readonly<Record<WireDialect, (body: Fields) => Fields>>>;
  /** The status of a success that has nothing to say. */
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

const TASK = "/tasks/{taskId}";
const CONFIGS = `${TASK}/pushNotificationConfigs`;
const CONFIG = `${CONFIGS}/{configId}`;

/**
 * The REST binding on one page (0.3 §3.5.6, 1.0 §5.3). The first path that fits
 * counts, so what ends in a verb stands before what takes any name.
 */
export const ROUTES: readonly Route[] = [
  {
    operation: "sendMessage",
    methods: ["POST"],
    paths: both("/message:send"),
    naming: nothing,
  },
  {
    operation: "sendStreamingMessage",
    methods: ["POST"],
    paths: both("/message:stream"),
    naming: nothing,
  },
  {
    operation: "listTasks",
    methods: ["GET"],
    paths: both("/tasks"),
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
    methods: ["POST"],
    paths: both(`${TASK}:cancel`),
    naming: task,
  },
  {
    operation: "subscribeToTask",
    // Both versions say POST in their text and GET in their proto.
    methods: ["GET", "POST"],
    paths: both(`${TASK}:subscribe`),
    naming: task,
  },
  {
    operation: "getTask",
    methods: ["GET"],
    paths: both(TASK),
    naming: task,
    query: { historyLength: "integer" },
  },
  {
    operation: "createPushConfig",
    methods: ["POST"],
    paths: both(CONFIGS),
    naming: configs,
    // In the proto of 0.3 the config is the body, and the rest of the request in the query. Its
    // text puts the config below `config`, where it is in the whole request, too.
    query: { configId: "text" },
    shape: { "0.3-proto": (body) => (Object.hasOwn(body, "config") ? body : { config: body }) },
  },
  {
    operation: "listPushConfigs",
    methods: ["GET"],
    paths: both(CONFIGS),
    naming: configs,
    query: { pageSize: "integer", pageToken: "text" },
  },
  {
    operation: "getPushConfig",
    methods: ["GET"],
    paths: both(CONFIG),
    naming: config,
  },
  {
    operation: "deletePushConfig",
    methods: ["DELETE"],
    paths: both(CONFIG),
    naming: config,
    empty: 204,
  },
  {
    operation: "getExtendedCard",
    methods: ["GET"],
    paths: { "0.3": "/v1/card", "1.0": "/extendedAgentCard" },
    naming: nothing,
  },
];

/** Nearly everywhere the versions differ in their prefix alone. */
function both(path: string): Route["paths"] {
  return { "0.3": `/v1${path}`, "1.0": path };
}
