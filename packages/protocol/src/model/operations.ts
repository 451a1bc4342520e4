import { A2AError } from "./errors.ts";

/** One operation of A2A, and its name in each wire version. */
export interface Operation {
  /** The JSON-RPC method in 1.0; gRPC uses the same name. */
  readonly method: string;
  /** The JSON-RPC methods in 0.3, the official one first. Empty where 0.3 has none. */
  readonly methods03: readonly string[];
  /** Whether the response is a stream of events. */
  readonly streaming: boolean;
}

/**
 * The whole protocol on one page. Servers route with this table, clients call with it, and the
 * tests iterate over it. How REST reads the path and query of each operation is in
 * `packages/server/src/bindings/rest/routes.ts`.
 */
export const OPERATIONS = {
  sendMessage: { method: "SendMessage", methods03: ["message/send"], streaming: false },
  sendStreamingMessage: {
    method: "SendStreamingMessage",
    methods03: ["message/stream"],
    streaming: true,
  },
  getTask: { method: "GetTask", methods03: ["tasks/get"], streaming: false },
  listTasks: { method: "ListTasks", methods03: [], streaming: false },
  cancelTask: { method: "CancelTask", methods03: ["tasks/cancel"], streaming: false },
  subscribeToTask: { method: "SubscribeToTask", methods03: ["tasks/resubscribe"], streaming: true },
  createPushConfig: {
    method: "CreateTaskPushNotificationConfig",
    methods03: ["tasks/pushNotificationConfig/set"],
    streaming: false,
  },
  getPushConfig: {
    method: "GetTaskPushNotificationConfig",
    methods03: ["tasks/pushNotificationConfig/get"],
    streaming: false,
  },
  listPushConfigs: {
    method: "ListTaskPushNotificationConfigs",
    methods03: ["tasks/pushNotificationConfig/list"],
    streaming: false,
  },
  deletePushConfig: {
    method: "DeleteTaskPushNotificationConfig",
    methods03: ["tasks/pushNotificationConfig/delete"],
    streaming: false,
  },
  getExtendedCard: {
    method: "GetExtendedAgentCard",
    // 0.3 spells it both ways: §7.10 and §11.1.3.
    methods03: ["agent/getAuthenticatedExtendedCard", "agent/authenticatedExtendedCard"],
    streaming: false,
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

/** A JSON-RPC method of one version. */
export interface Method {
  readonly operation: OperationName;
  readonly version: ProtocolVersion;
}

/** Finds the operation of a JSON-RPC method. The two versions name methods differently (`x/y` and PascalCase), so the name implies the version. */
export function findMethod(name: string): Method | undefined {
  return METHODS.get(name);
}

const METHODS = new Map<string, Method>(
  (Object.keys(OPERATIONS) as OperationName[]).flatMap((operation) => [
    [OPERATIONS[operation].method, { operation, version: "1.0" }] as const,
    ...OPERATIONS[operation].methods03.map(
      (name) => [name, { operation, version: "0.3" }] as [string, Method],
    ),
  ]),
);

/** The REST route of one operation. */
export interface RestRoute {
  /** Any of them is accepted. */
  readonly methods: readonly ("GET" | "POST" | "DELETE")[];
  /** Relative to the URL of the interface. 1.0 also has each path below a tenant. */
  readonly paths: Readonly<Record<ProtocolVersion, string>>;
}

const TASK = "/tasks/{taskId}";

const CONFIGS = `${TASK}/pushNotificationConfigs`;

const CONFIG = `${CONFIGS}/{configId}`;

/** The routes of the REST binding on one page (0.3 §3.5.6, 1.0 §5.3). */
export const REST_ROUTES = {
  sendMessage: { methods: ["POST"], paths: both("/message:send") },
  sendStreamingMessage: { methods: ["POST"], paths: both("/message:stream") },
  getTask: { methods: ["GET"], paths: both(TASK) },
  listTasks: { methods: ["GET"], paths: both("/tasks") },
  cancelTask: { methods: ["POST"], paths: both(`${TASK}:cancel`) },
  // Both versions say POST in their text and GET in their proto file.
  subscribeToTask: { methods: ["GET", "POST"], paths: both(`${TASK}:subscribe`) },
  createPushConfig: { methods: ["POST"], paths: both(CONFIGS) },
  getPushConfig: { methods: ["GET"], paths: both(CONFIG) },
  listPushConfigs: { methods: ["GET"], paths: both(CONFIGS) },
  deletePushConfig: { methods: ["DELETE"], paths: both(CONFIG) },
  getExtendedCard: {
    methods: ["GET"],
    paths: { "0.3": "/v1/card", "1.0": "/extendedAgentCard" },
  },
} as const satisfies Record<OperationName, RestRoute>;

/** Almost everywhere, the versions differ only in their prefix. */
function both<Path extends string>(path: Path) {
  return { "0.3": `/v1${path}`, "1.0": path } as const;
}

/** The wire versions that this package supports. */
export type ProtocolVersion = "0.3" | "1.0";

/**
 * Parses an `A2A-Version` header. Only Major.Minor counts, and of a list only the first entry
 * (1.0 §3.6). Returns `undefined` if none was sent.
 */
export function parseVersion(value: string | null | undefined): ProtocolVersion | undefined {
  if (value === "1.0" || value === "0.3") return value;
  const asked = value?.split(",")[0]?.trim();
  if (asked === undefined || asked === "") return undefined;
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.\d+)?$/.exec(asked) ?? [];
  if (major === "1" && minor === "0") return "1.0";
  if (major === "0" && Number(minor) >= 3) return "0.3";
  throw new A2AError("VersionNotSupported", `A2A-Version ${asked} is not one of 0.3, 1.0`, {
    details: { requested: asked, supported: "0.3, 1.0" },
  });
}
