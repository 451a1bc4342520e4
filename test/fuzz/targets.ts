import { PROTO_CODECS, type ProtocolVersion, userMessage } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";

/** A valid request of one binding, to be mutated. */
export interface Target {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const TASK = "01a1dd92-3a70-7000-8000-000000000001";
const JSON_TYPE = { "content-type": "application/json" };

const message03 = {
  kind: "message",
  messageId: "m",
  role: "user",
  parts: [
    { kind: "text", text: "hello" },
    { kind: "data", data: { a: [1] } },
  ],
  metadata: { a: 1 },
};
const message10 = {
  messageId: "m",
  role: "ROLE_USER",
  parts: [{ text: "hello" }, { data: { a: [1] } }],
  metadata: { a: 1 },
};
const push = { url: "https://hooks.example.com/", token: "t", headers: { "x-a": "b" } };

export const JSONRPC: readonly Target[] = [
  rpc("message/send", { message: message03, configuration: { blocking: false, historyLength: 1 } }),
  rpc("message/stream", { message: message03 }),
  rpc("tasks/get", { id: TASK, historyLength: 3 }),
  rpc("tasks/cancel", { id: TASK }),
  rpc("tasks/resubscribe", { id: TASK }),
  rpc("tasks/pushNotificationConfig/set", { taskId: TASK, pushNotificationConfig: push }),
  rpc("SendMessage", { message: message10, configuration: { returnImmediately: true } }),
  rpc("SendStreamingMessage", { message: message10 }),
  rpc("GetTask", { id: TASK }),
  rpc("ListTasks", { pageSize: 5, status: "TASK_STATE_WORKING", pageToken: "", contextId: "c" }),
  rpc("SubscribeToTask", { id: TASK }),
  rpc("CreateTaskPushNotificationConfig", { taskId: TASK, ...push }),
  rpc("ListTaskPushNotificationConfigs", { taskId: TASK, pageSize: 3 }),
];

export const REST: readonly Target[] = [
  rest("POST", "/message:send", { message: message10, configuration: { returnImmediately: true } }),
  rest("POST", "/message:stream", { message: message10 }),
  rest("GET", `/tasks/${TASK}?historyLength=2`),
  rest("GET", "/tasks?pageSize=3&status=TASK_STATE_WORKING"),
  rest("POST", `/tasks/${TASK}:cancel`, {}),
  rest("GET", `/tasks/${TASK}:subscribe`),
  rest("POST", `/tasks/${TASK}/pushNotificationConfigs`, push),
  rest("POST", "/v1/message:send", { message: { ...message10, content: message10.parts } }),
  rest("POST", "/v1/message:send", { message: message03 }),
  rest("GET", `/v1/tasks/${TASK}`),
  rest("POST", `/v1/tasks/${TASK}:cancel`, {}),
  rest("DELETE", `/v1/tasks/${TASK}/pushNotificationConfigs/x`),
];

/** The message of a gRPC call as bytes, and its path. */
export function grpcTargets(): readonly { readonly path: string; readonly bytes: Uint8Array }[] {
  return (["0.3", "1.0"] as const satisfies readonly ProtocolVersion[]).flatMap((version) => {
    const codec = PROTO_CODECS[version];
    const request = { message: userMessage("m", "hello"), blocking: false };
    const json: Readonly<Record<string, unknown>> = {
      sendMessage: codec.encodeSendMessage(request),
      sendStreamingMessage: codec.encodeSendMessage(request),
      getTask: codec.encodeGetTask({ taskId: TASK, historyLength: 3 }),
      cancelTask: codec.encodeCancelTask({ taskId: TASK }),
      subscribeToTask: codec.encodeSubscribe({ taskId: TASK }),
    };
    return GRPC_SERVICES[version].methods.flatMap((method) =>
      json[method.operation] === undefined
        ? []
        : [{ path: method.path, bytes: method.encodeRequest(json[method.operation]) }],
    );
  });
}

function rpc(method: string, params: object): Target {
  const body = { jsonrpc: "2.0", id: 1, method, params };
  return { method: "POST", path: "/", headers: JSON_TYPE, body };
}

function rest(method: string, path: string, body?: object): Target {
  return { method, path, headers: body === undefined ? {} : JSON_TYPE, body };
}
