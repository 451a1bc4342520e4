import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Mounted, connect, mount } from "convoke";
import { createJsonLogger } from "@convoke/engine";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { type Asked, byFetch, byPort } from "./both-ways.ts";

const TOKEN = "s3cret";
const APP = "https://app.example";

let mounted: Mounted;
let server: Server;
let port: number;
let taskId: string;

beforeAll(async () => {
  mounted = await mount(demoAgent, {
    data: "memory",
    logger: createJsonLogger("silent", () => undefined),
    token: TOKEN,
    publicUrl: "http://localhost/",
    cors: { origins: [APP] },
    limits: { bodyBytes: 2000 },
    basePath: "/agent",
    tenants: ["acme"],
  });
  server = createServer(mounted.node);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
  const agent = await connect("http://localhost/agent", {
    token: TOKEN,
    fetch: (input, init) => mounted.fetch(new Request(input, init)),
  });
  taskId = (await agent.send("slow 3")).task!.id;
});

afterAll(async () => {
  await mounted.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };
const JSON_TYPE = { "content-type": "application/json" };

function rpc(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** The same message twice is one task, so that both ways get the same one. */
const MESSAGE = { messageId: "m1", role: "user", parts: [{ kind: "text", text: "slow 5" }] };

const STORIES: readonly (readonly [string, number, () => Asked])[] = [
  ["the card", 200, () => ({ method: "GET", path: "/agent/.well-known/agent-card.json" })],
  [
    "the head of the card",
    200,
    () => ({ method: "HEAD", path: "/agent/.well-known/agent-card.json" }),
  ],
  [
    "the card with If-Modified-Since",
    304,
    () => ({
      method: "GET",
      path: "/agent/.well-known/agent-card.json",
      headers: { "if-modified-since": "Fri, 31 Dec 9999 23:59:59 GMT" },
    }),
  ],
  [
    "a DELETE of the card",
    405,
    () => ({ method: "DELETE", path: "/agent/.well-known/agent.json" }),
  ],
  ["the keys", 200, () => ({ method: "GET", path: "/agent/.well-known/jwks.json" })],
  ["nothing", 404, () => ({ method: "GET", path: "/agent/nowhere?x=1", headers: AUTHORIZED })],
  [
    "no token",
    401,
    () => ({ method: "POST", path: "/agent/", headers: JSON_TYPE, body: rpc("message/send", {}) }),
  ],
  ["no token on REST", 401, () => ({ method: "GET", path: `/agent/tasks/${taskId}` })],
  [
    "another host",
    403,
    () => ({
      method: "GET",
      path: "/agent/.well-known/agent-card.json",
      headers: { host: "evil.example" },
    }),
  ],
  [
    "a page of another origin",
    403,
    () => ({
      method: "POST",
      path: "/agent/",
      headers: { ...AUTHORIZED, ...JSON_TYPE, origin: "https://evil.example" },
      body: rpc("tasks/get", { id: taskId }),
    }),
  ],
  [
    "a preflight of a listed page",
    204,
    () => ({
      method: "OPTIONS",
      path: "/agent/",
      headers: { origin: APP, "access-control-request-method": "POST" },
    }),
  ],
  [
    "a preflight for the card",
    204,
    () => ({
      method: "OPTIONS",
      path: "/agent/.well-known/agent-card.json",
      headers: { origin: "https://evil.example", "access-control-request-method": "GET" },
    }),
  ],
  [
    "a listed page",
    200,
    () => ({
      method: "POST",
      path: "/agent/",
      headers: { ...AUTHORIZED, ...JSON_TYPE, origin: APP },
      body: rpc("tasks/get", { id: taskId }),
    }),
  ],
  [
    "a body beyond the limit",
    413,
    () => ({
      method: "POST",
      path: "/agent/",
      headers: { ...AUTHORIZED, ...JSON_TYPE },
      body: "x".repeat(2001),
    }),
  ],
  [
    "another media type",
    415,
    () => ({
      method: "POST",
      path: "/agent/",
      headers: { ...AUTHORIZED, "content-type": "text/html" },
      body: "<p>",
    }),
  ],
  [
    "a body that is not JSON",
    200,
    () => ({
      method: "POST",
      path: "/agent",
      headers: { ...AUTHORIZED, ...JSON_TYPE },
      body: "{",
    }),
  ],
  [
    "a task on REST",
    200,
    () => ({ method: "GET", path: `/agent/tasks/${taskId}`, headers: AUTHORIZED }),
  ],
  [
    "an unknown task",
    404,
    () => ({ method: "GET", path: "/agent/tasks/none", headers: AUTHORIZED }),
  ],
  [
    "gRPC, which needs its own port",
    200,
    () => ({
      method: "POST",
      path: "/agent/lf.a2a.v1.A2AService/GetTask",
      headers: { ...AUTHORIZED, "content-type": "application/grpc" },
      body: "",
    }),
  ],
  [
    "an answer",
    200,
    () => ({
      method: "POST",
      path: "/agent/api/a2a",
      headers: { ...AUTHORIZED, ...JSON_TYPE },
      body: rpc("message/send", { message: MESSAGE }),
    }),
  ],
  [
    "a stream",
    200,
    () => ({
      method: "POST",
      path: "/agent/",
      headers: { ...AUTHORIZED, ...JSON_TYPE },
      body: rpc("message/stream", { message: MESSAGE }),
    }),
  ],
  [
    "the rest of a stream",
    200,
    () => ({
      method: "POST",
      path: "/agent/",
      headers: { ...AUTHORIZED, ...JSON_TYPE, "last-event-id": "4" },
      body: rpc("tasks/resubscribe", { id: taskId }),
    }),
  ],
];

test.each(STORIES)("%s is %i, with fetch and over a port", async (_name, status, ask) => {
  const asked = ask();

  const fetched = await byFetch(mounted, asked);
  const ported = await byPort(port, asked);

  expect(fetched).toEqual({ ...ported, headers: withoutTrailers(ported.headers, fetched.headers) });
  expect(fetched.status).toBe(status);
});

test("the rest of a stream starts after the cursor", async () => {
  const [, , ask] = STORIES.at(-1)!;

  const { body } = await byFetch(mounted, ask());

  expect(body).toMatch(/^id: 5\n/);
  expect(body).toContain('"completed"');
});

test("both ways give the same response to any request", async () => {
  const header = (name: string, ...values: readonly string[]) =>
    fc.option(
      fc.constantFrom(...values).map((value) => ({ [name]: value })),
      { nil: {} },
    );
  const anyRequest = fc.record({
    method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"),
    path: fc.constantFrom(
      "/agent",
      "/agent/",
      "/agent/tasks?pageSize=1&status=x",
      "/agent/tasks/TASK",
      "/agent/v1/tasks/TASK?historyLength=1",
      "/agent/acme/tasks",
      "/agent/a%20b/tasks",
      "/agent/message:send",
      "/agent/v1/message:stream",
      "/agent/extendedAgentCard",
      "/agent/.well-known/agent-card.json",
      "/agents",
      "/",
    ),
    body: fc.constantFrom(
      "",
      "null",
      "[]",
      "{",
      "\u00e4",
      "x".repeat(2001),
      rpc("tasks/get", { id: "TASK" }),
      rpc("GetTask", { id: "TASK", historyLength: -1 }),
      rpc("no/method", {}, "ä"),
      rpc("message/send", { message: MESSAGE }),
      JSON.stringify({ message: { messageId: "m2", role: "ROLE_USER", parts: [{ text: "hi" }] } }),
    ),
    headers: fc
      .tuple(
        header("authorization", `Bearer ${TOKEN}`, "Bearer guessed", `Basic ${TOKEN}`),
        header("content-type", "application/json", "application/a2a+json", "text/plain"),
        header("a2a-version", "1.0", "0.3", "7.0"),
        header("origin", APP, "https://evil.example", "null"),
        header("host", "evil.example", "LOCALHOST:1"),
        header("access-control-request-method", "POST"),
        header("accept", "text/event-stream", "application/json"),
        header("last-event-id", "1", "x"),
      )
      .map((parts) => Object.assign({}, ...parts) as Record<string, string>),
  });

  await fc.assert(
    fc.asyncProperty(anyRequest, async ({ method, path, body, headers }) => {
      const fill = (text: string): string => text.replace("TASK", taskId);
      const asked = { method, path: fill(path), headers, body: fill(body) };

      const fetched = await byFetch(mounted, asked);
      const ported = await byPort(port, asked);

      expect(fetched).toEqual(ported);
    }),
    { numRuns: 150 },
  );
});

/** Without a body gRPC sends headers instead of trailers, and only with fetch. */
function withoutTrailers(
  ported: Readonly<Record<string, string>>,
  fetched: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const trailers = Object.entries(fetched).filter(([name]) => name.startsWith("grpc-"));
  return { ...ported, ...Object.fromEntries(trailers) };
}
