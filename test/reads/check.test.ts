import { createMemoryBackend } from "@convoke/engine/memory";
import { SseDecoder } from "@convoke/protocol";
import { serve as serveOn } from "@convoke/server";
import { type AgentServer, bearer, defineAgent, serve } from "convoke";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";

const agent = defineAgent({ name: "Checked", description: "Is checked.", run: async () => "done" });
const auth = [
  bearer("operator", { owner: "ops", scopes: ["convoke:operate"] }),
  bearer("ann", { owner: "ann", scopes: [] }),
];
const logger = memoryLogger();
let server: AgentServer;

beforeAll(async () => {
  server = await serve([agent], { port: 0, data: "memory", auth, logger });
});

afterAll(() => server.close());

function post(token: string, body: object, init: RequestInit & { readonly url?: string } = {}) {
  const { url = server.url, headers, ...rest } = init;
  return fetch(`${url}convoke/check`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(headers as Record<string, string> | undefined),
    },
    body: JSON.stringify(body),
    ...rest,
  });
}

test("an operator checks an agent of the server with its own credentials, and gets the report", async () => {
  const answer = await post("operator", { agent: "checked", only: ["v1-S14"] });

  const events = new SseDecoder().push(await answer.text());
  expect(events.map(({ event }) => event).slice(-2)).toEqual(["probe", "report"]);
  expect(JSON.parse(events.at(-1)!.data)).toMatchObject({
    url: `${server.url}agents/checked/`,
    agent: { name: "Checked" },
    failures: { MUST: 0 },
    counts: { passed: expect.any(Number), failed: 0 },
  });
  const { counts } = JSON.parse(events.at(-1)!.data) as { readonly counts: { passed: number } };
  expect(counts.passed).toBeGreaterThan(0);
  expect(logger.lines.join("\n")).toContain('"check.started"');
});

test("others cannot, nor can pages of other origins, nor is another server checked", async () => {
  const page = { headers: { origin: "https://evil.example" } };

  expect((await post("ann", {})).status).toBe(403);
  expect((await post("operator", {}, page)).status).toBe(403);
  expect((await post("operator", { agent: "http://127.0.0.1:9" })).status).toBe(400);
  expect((await post("operator", { only: "v1-S14" })).status).toBe(400);
});

test("a check stops when its client disconnects", async () => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<unknown>();
  const own = await serveOn(agent, {
    port: 0,
    host: "127.0.0.1",
    logger,
    openBackend: async () => createMemoryBackend(),
    check: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          stop("stopped");
          reject(signal.reason as Error);
        });
      }),
  });
  onTestFinished(() => own.close());
  const leaving = new AbortController();
  await post("", {}, { url: own.url, signal: leaving.signal });

  leaving.abort();

  expect(await stopped).toBe("stopped");
});
