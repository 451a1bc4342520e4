import {
  HOOK,
  UNKNOWN_TASK,
  expectProtoNames,
  finishedTask,
  getTask,
  ordinaryStream,
  requirePush,
  requireStreaming,
  taskWithHistory,
} from "../scene/fixtures.ts";
import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../wire/exchange.ts";
import type { HttpReply } from "../wire/http.ts";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import { at, parseJson, withValueAt } from "../wire/json.ts";
import { JsonRpcClient, REQUEST_ID } from "../wire/jsonrpc.ts";
import { RestClient, type RestRequest } from "../wire/rest.ts";
import { GRPC_STATUS } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { GrpcClient, type GrpcStatus } from "../wire/grpc.ts";

/** The gRPC service. */
export const GRPC: readonly Probe[] = [
  {
    name: "content-type",
    says: "A response is application/grpc.",
    claims: [must("v1-S53", "§10.1"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { headers } = await raw(scene, methodOf(scene), Buffer.alloc(0));
      if ((headers["content-type"] ?? "").startsWith("application/grpc")) return;
      throw new Failed("the content type application/grpc");
    },
  },
  {
    name: "unknown-method",
    says: "An unknown method is rejected with UNIMPLEMENTED.",
    claims: [must("v1-S53", "§10"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { name } = GRPC_SERVICES[scene.client.version];
      const { status } = await raw(scene, `/${name}/ConvokeCheck`, Buffer.alloc(0));
      if (GRPC_STATUS[status] !== "UNIMPLEMENTED") throw new Failed("the status UNIMPLEMENTED");
    },
  },
  {
    name: "not-protobuf",
    says: "Bytes that are not a protobuf message are rejected.",
    claims: [must("v1-S53", "§10"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { status } = await raw(scene, methodOf(scene), Buffer.from([255, 255, 255, 255]));
      if (status === 0) throw new Failed("an error such as INVALID_ARGUMENT");
    },
  },
];

/** Paths, bodies and media types of REST. */
export const REST: readonly Probe[] = [
  {
    name: "content-type",
    says: "A response is application/a2a+json.",
    claims: [should("v1-S52", "§11.1, §14.1")],
    bindings: ["rest"],
    async run(scene) {
      const response = await scene.call("sendMessage", scene.requests.send(scene.settings.message));
      const type = response.headers["content-type"] ?? "";
      if (type.startsWith("application/a2a+json")) return;
      throw new Failed("the content type application/a2a+json", {
        ...response.exchange,
        received: `${type}: ${response.exchange.received}`,
      });
    },
  },
  {
    name: "content-type",
    says: "A response is application/json.",
    claims: [must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const response = await scene.call("sendMessage", scene.requests.send(scene.settings.message));
      if ((response.headers["content-type"] ?? "").startsWith("application/json")) return;
      throw new Failed("the content type application/json", response.exchange);
    },
  },
  {
    name: "not-json",
    says: "A body that is not JSON is rejected with a status from 400 to 499.",
    claims: [must("v1-S51", "§11.6"), must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const path = scene.client.version === "1.0" ? "/message:send" : "/v1/message:send";
      await expectClientError(scene, { method: "POST", path, body: "{no json" });
    },
  },
  {
    name: "unknown-path",
    says: "An unknown path is rejected with a status from 400 to 499.",
    claims: [must("v1-S51", "§11.3"), must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const path = scene.client.version === "1.0" ? "/convoke/check" : "/v1/convoke/check";
      await expectClientError(scene, { method: "GET", path });
    },
  },
  {
    name: "wrong-verb",
    says: "A path with another verb than its own is rejected with a status from 400 to 499.",
    claims: [must("v1-S51", "§5.3, §11.3"), must("v03-S8", "§3.5.3")],
    bindings: ["rest"],
    async run(scene) {
      const base = scene.client.version === "1.0" ? "" : "/v1";
      await expectClientError(scene, { method: "GET", path: `${base}/message:send` });
      const path = `${base}/tasks/${UNKNOWN_TASK}`;
      await expectClientError(scene, { method: "GET", path: `${path}:cancel` });
      await expectClientError(scene, { method: "DELETE", path });
    },
  },
  {
    name: "history-length-query",
    says: "The query may name the historyLength as the proto does: history_length.",
    claims: [should("v03-S8", "§3.2.3, §3.5.3")],
    bindings: ["rest"],
    async run(scene) {
      const { taskId } = await taskWithHistory(scene);
      const { value, exchange } = await getTask(scene, taskId, undefined, {
        query: { history_length: "1" },
      });
      if (value.history.length > 1) throw new Failed("a history of at most one message", exchange);
    },
  },
  {
    name: "proto-names",
    says: "Fields may have their names in the proto.",
    claims: [should("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    run: expectProtoNames,
  },
  {
    name: "empty-authentication",
    says: "A push config may have an empty authentication.",
    claims: [should("v03-S5", "§6.8, §7.5")],
    bindings: ["rest"],
    async run(scene) {
      requirePush(scene);
      const { taskId } = (await finishedTask(scene)).value;
      const plain = scene.requests.createPush(taskId, HOOK);
      const path = ["config", "pushNotificationConfig", "authentication"];
      const params = withValueAt(plain, path, {});
      await scene.expectResult(scene.call("createPushConfig", params), "the push config");
    },
  },
  {
    name: "encoded-id",
    says: "An id with an encoded slash in the path is decoded.",
    claims: [should("v1-S51", "§11.3")],
    bindings: ["rest"],
    async run(scene) {
      const params = scene.requests.get("convoke/check no such task");
      await scene.expectError(scene.call("getTask", params), "TaskNotFound");
    },
  },
];

/** The JSON-RPC 2.0 envelope. */
export const JSONRPC: readonly Probe[] = [
  {
    name: "envelope",
    says: "A response is JSON-RPC 2.0 with the id of its request and either a result or an error.",
    claims: [must("v1-S50", "§9.1"), must("v03-S6", "§6.11.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { requests, settings } = scene;
      expectResponse(await scene.call("sendMessage", requests.send(settings.message)));
      expectResponse(await scene.call("getTask", requests.get(UNKNOWN_TASK)));
    },
  },
  {
    name: "number-as-id",
    says: "A numeric request id is returned as a number.",
    claims: [must("v1-S50", "§9.1"), must("v03-S6", "§6.11.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const body = { jsonrpc: "2.0", id: 0, method: "convoke/check", params: {} };
      const response = await post(scene, JSON.stringify(body));
      if (at(response, "id") !== 0) throw new Failed("the id 0");
    },
  },
  {
    name: "content-type",
    says: "A response is application/json.",
    claims: [must("v1-S50", "§9.1"), must("v03-S6", "§3.2.1")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { requests, settings } = scene;
      const { headers, exchange } = await scene.call(
        "sendMessage",
        requests.send(settings.message),
      );
      if ((headers["content-type"] ?? "").startsWith("application/json")) return;
      throw new Failed("the content type application/json", exchange);
    },
  },
  {
    name: "id-last",
    says: "A request without an id is rejected for its method first, or not answered.",
    claims: [should("v1-S50", "§9.5"), should("v03-S6", "§8.1")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { client } = scene;
      if (!(client instanceof JsonRpcClient)) throw new TypeError("this probe needs JSON-RPC");
      const { text } = await client.post('{"jsonrpc":"2.0","method":"convoke/check","params":{}}');
      // Without an id it is a notification, and JSON-RPC does not answer those.
      if (text.trim() === "" || at(parseJson(text), "error", "code") === -32601) return;
      throw new Failed("an error with the code -32601, or no response");
    },
  },
  {
    name: "stream-error",
    says: "The error of a rejected stream is an event of a stream.",
    claims: [should("v03-S7", "§3.3.1, §7.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      requireStreaming(scene);
      const params = scene.requests.send(scene.settings.message, { taskId: UNKNOWN_TASK });
      const opened = await scene.client.open({ operation: "sendStreamingMessage", params });
      if (opened.kind === "stream") return;
      throw new Failed("text/event-stream with one event, the JSON-RPC error", opened.exchange);
    },
  },
  {
    name: "unreadable-id",
    says: "The error for a body without a readable id has the id null.",
    claims: [must("v1-S50", "§9.1"), must("v03-S6", "§6.11.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const response = await post(scene, "{no json");
      if (at(response, "id") !== null) throw new Failed("the id null");
    },
  },
  ...(
    [
      ["not-json", "A body that is not JSON is rejected with -32700.", "{no json", -32700],
      ["not-a-request", "JSON that is not a request is rejected with -32600.", '{"foo":1}', -32600],
      [
        "other-jsonrpc",
        "A request of another JSON-RPC version is rejected with -32600.",
        '{"jsonrpc":"1.0","id":1,"method":"tasks/get","params":{}}',
        -32600,
      ],
      [
        "unknown-method",
        "An unknown method is rejected with -32601.",
        '{"jsonrpc":"2.0","id":1,"method":"convoke/check","params":{}}',
        -32601,
      ],
    ] as const
  ).map(([name, says, body, code]): Probe => ({
    name,
    says,
    claims: [must("v1-S50", "§9.5"), must("v03-S6", "§8.1")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const response = await post(scene, body);
      if (at(response, "error", "code") !== code)
        throw new Failed(`an error with the code ${code}`);
    },
  })),
  {
    name: "stream-envelope",
    says: "Each event of a stream is a whole JSON-RPC response with the id of the request.",
    claims: [must("v1-S50", "§9.4.2"), must("v03-S7", "§3.3.1, §7.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { items, exchange } = await ordinaryStream(scene);
      for (const { envelope } of items) {
        if (isResponse(envelope)) continue;
        throw new Failed(
          `events that are JSON-RPC responses with the id "${REQUEST_ID}"`,
          exchange,
        );
      }
    },
  },
];

function expectResponse({
  body,
  exchange,
}: {
  readonly body: unknown;
  readonly exchange: Failed["exchange"];
}) {
  if (isResponse(body)) return;
  throw new Failed(
    `jsonrpc "2.0", the id "${REQUEST_ID}", and either a result or an error`,
    exchange,
  );
}

function isResponse(body: unknown): body is JsonObject {
  if (!isObject(body) || body["jsonrpc"] !== "2.0" || body["id"] !== REQUEST_ID) return false;
  if (Object.hasOwn(body, "result") === Object.hasOwn(body, "error")) return false;
  const error = body["error"];
  return (
    error === undefined || (Number.isInteger(at(error, "code")) && at(error, "message") !== "")
  );
}

/** Posts any text and expects a JSON-RPC error, with any HTTP status. */
async function post(scene: Scene, body: string): Promise<unknown> {
  const { client } = scene;
  if (!(client instanceof JsonRpcClient)) throw new TypeError("this probe needs JSON-RPC");
  const reply: HttpReply = await client.post(body);
  const response = parseJson(reply.text);
  if (isObject(at(response, "error"))) return response;
  throw new Failed("a JSON-RPC error");
}

async function expectClientError(scene: Scene, place: RestRequest): Promise<void> {
  const { client } = scene;
  if (!(client instanceof RestClient)) throw new TypeError("this probe needs REST");
  const { status }: HttpReply = await client.request(place);
  if (status < 400 || status > 499) throw new Failed("a status from 400 to 499");
}

function methodOf({ client }: Scene): string {
  const { methods } = GRPC_SERVICES[client.version];
  return methods.find(({ operation }) => operation === "getTask")?.path ?? "";
}

function raw({ client }: Scene, path: string, message: Uint8Array): Promise<GrpcStatus> {
  if (!(client instanceof GrpcClient)) throw new TypeError("this probe needs gRPC");
  return client.raw(path, message);
}
