import {
  type OperationName,
  REST_ROUTES,
  type RestRoute,
  type WireDialect,
} from "@convoke/protocol";
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

/** One operation, where it is, and how its request is read. */
export interface Route extends RestRoute {
  readonly operation: OperationName;
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

/**
 * The REST binding on one page (0.3 §3.5.6, 1.0 §5.3). The first path that fits
 * counts, so what ends in a verb stands before what takes any name.
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
    // In the proto of 0.3 the config is the body, and the rest of the request in the query. Its
    // text puts the config below `config`, where it is in the whole request, too.
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
