import { createMemoryBackend } from "@convoke/engine/memory";
import { connect } from "@convoke/client";
import { CODECS } from "@convoke/protocol";
import { GRPC_SERVICES, decodeStatusDetails } from "@convoke/protocol/grpc";
import { frameGrpcMessage } from "@convoke/protocol/internal";
import {
  type Authenticate,
  type RateLimit,
  type RateLimitOptions,
  type ServeOptions,
  serve,
} from "@convoke/server";
import { defineAgent } from "convoke";
import { randomUUID } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS, aMessage } from "../wire/dialect.ts";

/** Two requests, of which one comes back every 30 seconds. */
const TWO: RateLimit = { limit: 2, windowMs: 60_000 };

const NOW = Date.UTC(2026, 0, 31, 12);

const HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] as const;

function rateOf({ headers }: Response): readonly number[] {
  return HEADERS.map((name) => Number(headers.get(name)));
}

describe.each(DIALECTS)("over JSON-RPC $version", (dialect) => {
  verifies(
    ["R118", "v1-S64"],
    "each answer tells the limit, what is left, and when all of it is back",
    async () => {
      const { url, clock } = await aServer({ write: TWO });
      const send = (): Promise<Response> => rpc(url, "send", { message: aMessage(dialect, "go") });
      const rpc = rpcIn(dialect);

      const answers = [await send(), await send()];
      const refused = await send();

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(rateOf)).toEqual([
        [2, 1, NOW / 1000 + 30],
        [2, 0, NOW / 1000 + 60],
      ]);
      expect(refused.status).toBe(429);
      expect(rateOf(refused)).toEqual([2, 0, NOW / 1000 + 60]);
      expect(refused.headers.get("retry-after")).toBe("30");
      expect(await refused.json()).toMatchObject({
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32603, message: expect.stringContaining("rateLimits.write") as string },
      });

      clock.now += 29_999;
      expect((await send()).status).toBe(429);
      clock.now += 1;
      expect((await send()).status).toBe(200);
    },
  );

  test("reads, writes and streams are counted apart, and what is not understood is a read", async () => {
    const { url } = await aServer({ read: TWO, write: TWO, stream: TWO });
    const rpc = rpcIn(dialect);
    const id = randomUUID();

    const left = async (answer: Promise<Response>): Promise<number> => rateOf(await answer)[1]!;

    expect(await left(rpc(url, "cancel", { id }))).toBe(1);
    expect(await left(rpc(url, "subscribe", { id }))).toBe(1);
    expect(await left(rpc(url, "get", { id }))).toBe(1);
    expect(await left(postText(url, "{nonsense"))).toBe(0);
    expect((await postText(url, "{nonsense")).status).toBe(429);
    expect((await rpc(url, "get", { id })).status).toBe(429);
    expect((await rpc(url, "cancel", { id })).status).toBe(200);
  });
});

verifies(
  ["R118", "v1-S65"],
  "REST answers 429 in the form of its version, also before the body is read",
  async () => {
    const { url } = await aServer({ read: { limit: 1, windowMs: 5000 } });
    const first = await fetch(`${url}tasks/x`);

    const v1 = await fetch(`${url}tasks/x`);
    const v03 = await fetch(`${url}v1/tasks/x`);

    expect([first.status, rateOf(first)[1]]).toEqual([404, 0]);
    expect([v1.status, v1.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await v1.json()).toMatchObject({
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        details: [
          { reason: "TOO_MANY_REQUESTS", metadata: { limit: "rateLimits.read", most: "1" } },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "5s" },
        ],
      },
    });
    expect([v03.status, v03.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await v03.json()).toMatchObject({
      code: -32603,
      data: { limit: "rateLimits.read" },
      error: { code: -32603 },
    });
  },
);

test("gRPC answers RESOURCE_EXHAUSTED with the time to wait, in both forms that clients read", async () => {
  const { url } = await aServer({ read: { limit: 1, windowMs: 2500 } });

  const first = await getTaskByGrpc(url);
  const refused = await getTaskByGrpc(url);

  expect(first).toMatchObject({ "grpc-status": "5", "x-ratelimit-remaining": "0" });
  expect(refused).toMatchObject({
    "grpc-status": "8",
    "grpc-retry-pushback-ms": "2500",
    "x-ratelimit-limit": "1",
  });
  const details = Buffer.from(String(refused["grpc-status-details-bin"]), "base64");
  expect(decodeStatusDetails(details).details).toContainEqual({
    "@type": "type.googleapis.com/google.rpc.RetryInfo",
    retryDelay: "2.5s",
  });
});

test("the routes of an operator are limited, too", async () => {
  const { url } = await aServer({ read: TWO, write: TWO });
  const replay = (): Promise<Response> => fetch(`${url}convoke/pushes:replay`, { method: "POST" });

  expect(rateOf(await fetch(`${url}convoke/pushes`))[1]).toBe(1);
  expect(rateOf(await fetch(`${url}nowhere`))[1]).toBe(0);
  expect((await fetch(`${url}convoke/approvals`)).status).toBe(429);
  expect([rateOf(await replay())[1], rateOf(await replay())[1]]).toEqual([1, 0]);
  expect((await replay()).status).toBe(429);
});

test("card and probes are not limited", async () => {
  const { url } = await aServer({ read: { limit: 1, windowMs: 60_000 } });
  await fetch(`${url}tasks/x`);

  for (const path of [".well-known/agent-card.json", "health", "ready"]) {
    const answer = await fetch(url + path);
    expect([path, answer.status, answer.headers.get(HEADERS[0])]).toEqual([path, 200, null]);
  }
});

test("each caller has a limit of its own, whichever tenant it names and wherever it comes from", async () => {
  const { url } = await aServer({ read: TWO }, { authenticate: whoever, tenants: ["a", "b"] });
  const as = (owner: string, path: string): Promise<Response> =>
    fetch(url + path, { headers: { authorization: owner } });

  expect(rateOf(await as("ann", "tasks/x"))[1]).toBe(1);
  expect(rateOf(await as("ann", "a/tasks/x"))[1]).toBe(0);
  expect((await as("ann", "b/tasks/x")).status).toBe(429);
  expect(rateOf(await as("bob", "tasks/x"))[1]).toBe(1);
});

describe("failed logins", () => {
  const login = (url: string, token: string, from: string): Promise<Response> =>
    fetch(`${url}tasks/x`, {
      headers: { authorization: `Bearer ${token}`, "x-forwarded-for": from },
    });

  test("an address that guesses is not even listened to for a while, and others are", async () => {
    const { url, clock } = await aServer({ login: TWO }, { token: "right", trustProxy: true });
    const guesser = "192.0.2.1";

    const guesses = [await login(url, "a", guesser), await login(url, "b", guesser)];
    const late = await login(url, "right", guesser);

    expect(guesses.map(({ status }) => status)).toEqual([401, 401]);
    expect([late.status, late.headers.get("retry-after")]).toEqual([429, "30"]);
    expect(await late.text()).toContain("rateLimits.login");
    expect((await login(url, "right", "192.0.2.2")).status).toBe(404);
    // The proxy adds the address that it saw to the one that the client made up.
    expect((await login(url, "right", `192.0.2.3, ${guesser}:4711`)).status).toBe(429);

    clock.now += 30_000;
    expect((await login(url, "right", guesser)).status).toBe(404);
  });

  test("a network of IPv6 addresses counts as one address", async () => {
    const { url } = await aServer({ login: TWO }, { token: "right", trustProxy: true });
    await login(url, "a", "2001:db8:0:7::1");
    await login(url, "b", "[2001:db8:0:7:ffff::2]:443");

    expect((await login(url, "right", "2001:db8::7:0:0:0:3")).status).toBe(429);
    expect((await login(url, "right", "2001:db8:0:8::1")).status).toBe(404);
  });

  test("requests without credentials are no guesses", async () => {
    const { url } = await aServer({ login: TWO }, { token: "right" });
    const without = (): Promise<Response> => fetch(`${url}tasks/x`);

    const statuses = [await without(), await without(), await without()];

    expect(statuses.map(({ status }) => status)).toEqual([401, 401, 401]);
  });
});

test("our client waits as long as it is asked to, and then succeeds", async () => {
  const { url } = await aServer(
    { write: { limit: 1, windowMs: 1000 } },
    { rateLimits: { write: { limit: 1, windowMs: 1000 } } },
  );
  const agent = await connect(url);
  onTestFinished(() => agent.close());
  const start = performance.now();

  const answers = [await agent.send("one"), await agent.send("two")];

  expect(answers.map(({ text }) => text)).toEqual(["done", "done"]);
  expect(performance.now() - start).toBeGreaterThan(900);
});

test("a limit that makes no sense is refused at the start", async () => {
  await expect(aServer({ read: { limit: 0, windowMs: 1000 } })).rejects.toThrow(
    "rateLimits.read must be { limit, windowMs }",
  );
});

const whoever: Authenticate = ({ headers }) => ({ owner: String(headers["authorization"]) });

async function aServer(limits: RateLimitOptions, options: Partial<ServeOptions> = {}) {
  const clock = { now: NOW };
  const agent = defineAgent({
    name: "Limited",
    description: "Does what it is told.",
    run: async () => "done",
  });
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: memoryLogger(),
    openBackend: async () => createMemoryBackend(),
    rateLimits: { ...limits, now: () => clock.now },
    ...options,
  });
  onTestFinished(() => server.close());
  return { url: server.url, clock };
}

function rpcIn({ version, methods }: (typeof DIALECTS)[number]) {
  return (url: string, verb: keyof typeof methods, params: object): Promise<Response> =>
    postText(
      url,
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: methods[verb], params }),
      version,
    );
}

function postText(url: string, body: string, version = "1.0"): Promise<Response> {
  const headers = { "content-type": "application/json", "a2a-version": version };
  return fetch(url, { method: "POST", headers, body });
}

/** Headers and trailers of a call for a task that does not exist. */
async function getTaskByGrpc(url: string): Promise<Record<string, unknown>> {
  const method = GRPC_SERVICES[CODECS["1.0"].version].methods.find(
    ({ operation }) => operation === "getTask",
  )!;
  const session = connectHttp2(url);
  const stream = session.request({
    ":method": "POST",
    ":path": method.path,
    "content-type": "application/grpc+proto",
  });
  const seen: Record<string, unknown> = {};
  stream.on("response", (headers) => Object.assign(seen, headers));
  stream.on("trailers", (headers) => Object.assign(seen, headers));
  stream.end(frameGrpcMessage(method.encodeRequest({ id: "x" }), (size) => Buffer.alloc(size)));
  await new Promise((resolve) => stream.resume().on("close", resolve));
  session.close();
  return seen;
}
