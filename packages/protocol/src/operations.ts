/** One operation of A2A, as each wire version calls it. */
export interface Operation {
  /** The JSON-RPC method in 1.0; gRPC uses the same name. */
  readonly method: string;
  /** The JSON-RPC methods in 0.3, the official one first. Empty where 0.3 has none. */
  readonly methods03: readonly string[];
  /** Whether the answer is a stream of events. */
  readonly streaming: boolean;
}

/**
 * The whole protocol on one page. Servers route by this table, clients call by
 * it, and the tests walk it: no binding keeps a list of its own.
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
