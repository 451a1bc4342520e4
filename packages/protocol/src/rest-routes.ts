import type { OperationName } from "./operations.ts";
import type { ProtocolVersion } from "./version.ts";

/** Where one operation is on REST. */
export interface RestRoute {
  /** Any of them does. */
  readonly methods: readonly ("GET" | "POST" | "DELETE")[];
  /** Below the address of the interface. 1.0 has each path below a tenant, too. */
  readonly paths: Readonly<Record<ProtocolVersion, string>>;
}

const TASK = "/tasks/{taskId}";
const CONFIGS = `${TASK}/pushNotificationConfigs`;
const CONFIG = `${CONFIGS}/{configId}`;

/** The addresses of the REST binding on one page (0.3 §3.5.6, 1.0 §5.3). */
export const REST_ROUTES = {
  sendMessage: { methods: ["POST"], paths: both("/message:send") },
  sendStreamingMessage: { methods: ["POST"], paths: both("/message:stream") },
  getTask: { methods: ["GET"], paths: both(TASK) },
  listTasks: { methods: ["GET"], paths: both("/tasks") },
  cancelTask: { methods: ["POST"], paths: both(`${TASK}:cancel`) },
  // Both versions say POST in their text and GET in their proto.
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

/** Nearly everywhere the versions differ in their prefix alone. */
function both<Path extends string>(path: Path) {
  return { "0.3": `/v1${path}`, "1.0": path } as const;
}
