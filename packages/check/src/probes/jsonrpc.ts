import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { ordinaryStory } from "../scene/streams.ts";
import { Failed } from "../verdict.ts";
import type { HttpReply } from "../wire/http.ts";
import { type JsonObject, at, isObject, parseJson } from "../wire/json.ts";
import { JsonRpcSpeaker, REQUEST_ID } from "../wire/jsonrpc-speaker.ts";

/** The envelope of JSON-RPC 2.0. */
export const JSONRPC: readonly Probe[] = [
  {
    name: "envelope",
    says: "An answer is JSON-RPC 2.0 with the id of its request and either a result or an error.",
    claims: [must("v1-S50", "§9.1"), must("v03-S6", "§6.11.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { requests, settings } = scene;
      judge(await scene.call("sendMessage", requests.send(settings.message)));
      judge(await scene.call("getTask", requests.get("convoke-check-no-such-task")));
    },
  },
  {
    name: "number-as-id",
    says: "An id that is a number comes back as that number.",
    claims: [must("v1-S50", "§9.1"), must("v03-S6", "§6.11.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const body = { jsonrpc: "2.0", id: 0, method: "convoke/check", params: {} };
      const answer = await post(scene, JSON.stringify(body));
      if (at(answer, "id") !== 0) throw new Failed("the id 0");
    },
  },
  {
    name: "content-type",
    says: "An answer is application/json.",
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
  ...(
    [
      ["not-json", "What is not JSON is refused with -32700.", "{no json", -32700],
      ["not-a-request", "JSON that is no request is refused with -32600.", '{"foo":1}', -32600],
      [
        "other-jsonrpc",
        "A request that is not of JSON-RPC 2.0 is refused with -32600.",
        '{"jsonrpc":"1.0","id":1,"method":"tasks/get","params":{}}',
        -32600,
      ],
      [
        "unknown-method",
        "A method that does not exist is refused with -32601.",
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
      const answer = await post(scene, body);
      if (at(answer, "error", "code") !== code) throw new Failed(`an error with the code ${code}`);
    },
  })),
  {
    name: "stream-envelope",
    says: "Each event of a stream is a whole JSON-RPC response with the id of the request.",
    claims: [must("v1-S50", "§9.4.2"), must("v03-S7", "§3.3.1, §7.2")],
    bindings: ["jsonrpc"],
    async run(scene) {
      const { items, exchange } = await ordinaryStory(scene);
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

function judge({
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

/** Posts any text and expects a JSON-RPC error, whatever the status. */
async function post(scene: Scene, body: string): Promise<unknown> {
  const { speaker } = scene;
  if (!(speaker instanceof JsonRpcSpeaker)) throw new TypeError("this is for JSON-RPC");
  const reply: HttpReply = await speaker.post(body);
  const answer = parseJson(reply.text);
  if (isObject(at(answer, "error"))) return answer;
  throw new Failed("a JSON-RPC error");
}
