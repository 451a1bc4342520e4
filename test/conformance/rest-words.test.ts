import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { jsonRpcSpeaker } from "./speakers.ts";
import { aMessage, aRequest } from "./requests.ts";

const server = useServer(conformanceAgent());

describe("REST", () => {
  verifies(
    "v1-S52",
    "uses application/a2a+json in 1.0, or JSON for clients that accept only that",
    async () => {
      const body = aSend();

      const types = [
        await post("/message:send", body, { "content-type": "application/a2a+json" }),
        await post("/message:send", body, { accept: "application/json" }),
        await fetch(new URL("/tasks/unknown", server.url)),
      ].map(({ headers }) => headers.get("content-type"));

      expect(types).toEqual(["application/a2a+json", "application/json", "application/a2a+json"]);
    },
  );

  verifies("v1-S52", "is UTF-8", async () => {
    const answer = await post("/message:send", aSend("Grüße 世界"));

    const text = new TextDecoder("utf-8", { fatal: true }).decode(await answer.arrayBuffer());
    expect(text).toContain("Grüße 世界");
  });

  verifies(["v03-S8"], "uses application/json in 0.3 and has one format for errors", async () => {
    const sent = await post("/v1/message:send", { message: aMessage("hello") });
    const unknown = await fetch(new URL("/v1/tasks/unknown", server.url));
    const broken = await post("/v1/message:send", "no JSON");

    for (const { headers } of [sent, unknown, broken]) {
      expect(headers.get("content-type")).toBe("application/json");
    }
    expect([sent, unknown, broken].map(({ status }) => status)).toEqual([200, 404, 400]);
    expect(await unknown.json()).toMatchObject({
      code: -32001,
      message: expect.any(String) as string,
    });
    expect(await broken.json()).toMatchObject({
      code: -32700,
      message: expect.any(String) as string,
    });
  });

  verifies(["v1-S51", "v03-S8"], "accepts a subscription via GET as well as via POST", async () => {
    const { id } = await jsonRpcSpeaker(server, "0.3").sendTask(aRequest("hello"));

    const subscribed = await fetch(new URL(`/v1/tasks/${id}:subscribe`, server.url));
    const refused = await fetch(new URL(`/tasks/${id}:subscribe`, server.url));

    expect(subscribed.headers.get("content-type")).toBe("text/event-stream");
    expect(await subscribed.text()).toContain("TASK_STATE_COMPLETED");
    expect(await refused.json()).toMatchObject({
      error: { code: 400, details: { 0: { reason: "UNSUPPORTED_OPERATION" } } },
    });
  });
});

function aSend(text = "hello"): object {
  return { message: { messageId: aMessage("").messageId, role: "ROLE_USER", parts: [{ text }] } };
}

function post(path: string, body: object | string, headers: Record<string, string> = {}) {
  return fetch(new URL(path, server.url), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
