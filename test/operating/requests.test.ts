import { createMemoryBackend } from "@convoke/engine/memory";
import { mount } from "@convoke/server";
import { defineAgent } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { aServer, rpc, send } from "./a-measured-server.ts";

describe("the id of a request", () => {
  const id = async (url: string, given: string): Promise<string | null> =>
    (await fetch(url, { headers: { "x-request-id": given } })).headers.get("x-request-id");

  test("is the one that the client or its proxy gave, in the response and in the log", async () => {
    const { url, log } = await aServer();

    const answer = await rpc(url, "GetTask", { id: "x" }, { "x-request-id": "req-1/2:3.4_A" });

    expect(answer.headers.get("x-request-id")).toBe("req-1/2:3.4_A");
    expect(log.find((line) => line.startsWith("answered"))).toContain('"req-1/2:3.4_A"');
  });

  test.each([["two words"], ["a\tb"], ["x".repeat(129)], ["{}"], ['"quoted"'], ["ä"]])(
    "is a new one instead of %j, which could forge the log",
    async (given) => {
      const { url, log } = await aServer();

      expect(await id(url, given)).toMatch(/^[0-9a-f]{8}-\d+$/);
      expect(log.join("\n")).not.toContain(given);
    },
  );

  test("is logged with an unknown error, whose text the client does not get", async () => {
    const authenticate = () => {
      throw new Error("the user database said canary");
    };
    const { url, log } = await aServer({ authenticate });

    const answer = await send(url, "go", { "x-request-id": "req-7" });
    const text = await answer.text();

    const [, errorId = ""] = /quote error ([0-9a-f]{12})/.exec(text) ?? [];
    expect(text).not.toContain("canary");
    const line = log.find((one) => one.startsWith("a request failed"));
    expect(line).toContain(`"errorId":"${errorId}"`);
    expect(line).toContain('"requestId":"req-7"');
  });
});

describe("headers that keep browsers safe", () => {
  const SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
  };

  test.each([
    ["an answer", "GET", "tasks", 200],
    ["a stream", "POST", "message:stream", 200],
    ["an error", "GET", "tasks/x", 404],
    ["a path that does not exist", "GET", "x/y/z", 404],
    ["the card", "GET", ".well-known/agent-card.json", 200],
    ["a probe", "GET", "health", 200],
    ["the metrics", "GET", "metrics", 200],
    ["a rejected host", "GET", "tasks", 403],
  ])("are on %s", async (_, method, path, status) => {
    const { server } = await aServer();
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const host = status === 403 ? "evil.example" : `127.0.0.1:${server.port}`;
    const answer = await server.fetch(
      new Request(`http://${host}/${path}`, {
        method,
        headers: { "content-type": "application/json" },
        ...(method === "POST" && { body: JSON.stringify({ message }) }),
      }),
    );
    await answer.text();

    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject(SAFE);
  });

  test("keep answers out of caches, except for the card and streams, which say so themselves", async () => {
    const { url } = await aServer();
    const cached = async (path: string): Promise<string | null> =>
      (await fetch(url + path)).headers.get("cache-control");

    expect(await cached("tasks")).toBe("no-store");
    expect(await cached("health")).toBe("no-store");
    expect(await cached(".well-known/agent-card.json")).toMatch(/max-age=\d+/);
  });

  test("are set by mounted agents, too", async () => {
    const agent = defineAgent({ name: "M", description: "M.", run: async () => "done" });
    const mounted = await mount(agent, {
      logger: memoryLogger(),
      openBackend: async () => createMemoryBackend(),
    });
    onTestFinished(() => mounted.close());

    const answer = await mounted.fetch(new Request("http://localhost/tasks/x"));

    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...SAFE,
      "cache-control": "no-store",
    });
  });
});
