import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { readAll } from "./reading.ts";
import { type Refusal, refusalOf } from "./refusal.ts";
import { aRequest } from "./requests.ts";
import type { Speaker } from "./speaker.ts";
import { speakersTo } from "./speakers.ts";
import type { WireHeaders as Headers } from "@convoke/check/wire";

const server = useServer(conformanceAgent(), { token: "a-secret" });

describe.each(speakersTo(server))("a server with a token over $binding $version", (speaker) => {
  verifies("v1-S53", "serves who has it", async () => {
    const answer = await ask(speaker, { authorization: "Bearer a-secret" });

    expect(speaker.codec.decodeSendResult(answer)).toMatchObject({
      status: { state: "completed" },
    });
  });

  for (const [who, headers] of [
    ["who has none", {}],
    ["who guesses", { authorization: "Bearer guess" }],
  ] as const) {
    verifies(["v1-S54", "v03-S12"], `refuses ${who}, whatever is asked`, async () => {
      const { codec } = speaker;
      const about = { taskId: "unknown", id: "unknown" };
      const target = { url: "https://hooks.example.com/" };
      for (const [operation, params] of [
        ["sendMessage", codec.encodeSendMessage(aRequest("hello"))],
        ["getTask", codec.encodeGetTask(about)],
        ["cancelTask", codec.encodeCancelTask(about)],
        ["createPushConfig", codec.encodeCreatePushConfig({ ...about, target })],
        ["getPushConfig", codec.encodeGetPushConfig(about)],
        ["listPushConfigs", codec.encodeListPushConfigs({ taskId: "unknown" })],
        ["deletePushConfig", codec.encodeDeletePushConfig(about)],
      ] as const) {
        const refusal = await refusalOf(speaker.call(operation, params, headers));

        expectRefused(speaker, refusal);
      }
    });
  }
});

describe.each(speakersTo(server))("a stream over $binding $version", (speaker) => {
  verifies(["v1-S54", "v03-S12"], "is refused to who has no token", async () => {
    const streams = [speaker.subscribe({ taskId: "unknown" }), speaker.stream(aRequest("hello"))];

    for (const stream of streams) expectRefused(speaker, await refusalOf(readAll(stream)));
  });
});

describe("a refusal over HTTP", () => {
  verifies(
    ["v1-S54", "v03-S12", "seed-C17"],
    "challenges, with a JSON-RPC error inside",
    async () => {
      const answer = await fetch(server.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "x" } }),
      });

      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer /);
      expect(await answer.json()).toMatchObject({
        jsonrpc: "2.0",
        error: { code: -32603, data: { reason: "unauthenticated" } },
      });
    },
  );
});

describe.each(["/tasks/unknown", "/v1/tasks/unknown"])("a refusal over REST at %s", (path) => {
  verifies(["v1-S54", "v03-S12"], "challenges", async () => {
    const answer = await fetch(new URL(path, server.url));

    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer /);
  });
});

function expectRefused({ binding }: Speaker, { http, grpc }: Refusal): void {
  expect(binding === "grpc" ? grpc : http).toBe(binding === "grpc" ? 16 : 401);
}

function ask(speaker: Speaker, headers: Headers): Promise<unknown> {
  const params = speaker.codec.encodeSendMessage(aRequest("hello"));
  return speaker.call("sendMessage", params, headers);
}
