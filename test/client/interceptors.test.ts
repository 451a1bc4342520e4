import { readFileSync } from "node:fs";
import { type Interceptor, connect } from "@convoke/client";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { describe, expect, test } from "vitest";
import { aTask } from "../../packages/client/src/run/a-stream.suite.ts";
import { answer, startGrpcAgent } from "./a-grpc-agent.ts";
import { type Call, events, failure, json, pagesV1, result, startFakeAgent } from "./fake-agent.ts";
import { withLogging, withTenant, withTiming } from "./interceptor-snippets.ts";

const TASK = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } };

/** Adds its name to a list before and after each call. */
function named(name: string, seen: string[]): Interceptor {
  return (next) => ({
    async call(operation, request, options) {
      seen.push(`${name} before ${operation}`);
      const came = await next.call(operation, request, options);
      seen.push(`${name} after`);
      return came;
    },
    stream: (operation, request, options) => next.stream(operation, request, options),
  });
}

const withHeaders = (headers: Readonly<Record<string, string>>): Interceptor => {
  return (next) => ({
    call: (operation, request, options) =>
      next.call(operation, request, { ...options, context: { ...options?.context, headers } }),
    stream: (operation, request, options) =>
      next.stream(operation, request, { ...options, context: { ...options?.context, headers } }),
  });
};

function startTaskAgent(reply = (call: Call) => result(call, TASK)) {
  return startFakeAgent({ pages: pagesV1(), answer: reply });
}

test("interceptors wrap a call from the outside in, in the given order", async () => {
  const agent = await startTaskAgent();
  const seen: string[] = [];
  const interceptors = [named("outer", seen), named("inner", seen)];
  const remote = await connect(agent.url, { interceptors });

  await remote.get("t1");

  expect(seen).toEqual([
    "outer before getTask",
    "inner before getTask",
    "inner after",
    "outer after",
  ]);
});

test("an interceptor sees an operation once, however often it is retried", async () => {
  let requests = 0;
  const agent = await startTaskAgent((call) => {
    requests += 1;
    return requests < 3 ? json({}, 503) : result(call, TASK);
  });
  const seen: string[] = [];
  const remote = await connect(agent.url, {
    interceptors: [named("one", seen)],
    retry: { baseMs: 1 },
  });

  await remote.get("t1");

  expect(requests).toBe(3);
  expect(seen).toEqual(["one before getTask", "one after"]);
});

describe("headers of an interceptor arrive", () => {
  test("on JSON-RPC, with calls and streams", async () => {
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        call.method === "GetTask" ? result(call, TASK) : events(call, [aTask("COMPLETED")]),
    });
    const remote = await connect(agent.url, { interceptors: [withTenant] });

    await remote.get("t1");
    await remote.stream("hi").result;

    const calls = agent.seen.filter(({ call }) => call !== undefined);
    expect(calls.map(({ headers }) => headers["x-tenant"])).toEqual(["blue", "blue"]);
  });

  test("on REST", async () => {
    const agent = await startFakeAgent({
      pages: {
        ...pagesV1({ supportedInterfaces: [] }),
        "/.well-known/agent-card.json": (url) =>
          json({
            name: "Rest",
            supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
          }),
        "/tasks/t1": () => json(TASK),
      },
    });
    const remote = await connect(agent.url, { interceptors: [withTenant] });

    await remote.get("t1");

    expect(agent.last.headers["x-tenant"]).toBe("blue");
  });

  test("on gRPC, as metadata", async () => {
    const seen: unknown[] = [];
    const method = GRPC_SERVICES["1.0"].methods.find((row) => row.operation === "getTask");
    const agent = await startGrpcAgent((stream, headers) => {
      seen.push(headers["x-tenant"]);
      answer(stream, [method!.encodeResponse(TASK)]);
    });
    const remote = await connect(agent.card, { interceptors: [withTenant] });

    await remote.get("t1");

    expect(seen).toEqual(["blue"]);
  });
});

test("a message can have its own headers", async () => {
  const agent = await startTaskAgent((call) => result(call, aTask("COMPLETED")));
  const remote = await connect(agent.url);

  await remote.send("hi", { headers: { "X-Request": "42" } });

  expect(agent.last.headers["x-request"]).toBe("42");
});

test("headers do not replace credentials, regardless of case", async () => {
  const agent = await startTaskAgent();
  const remote = await connect(agent.url, {
    auth: { apiKey: { in: "header", name: "X-Api-Key", value: "secret" } },
    interceptors: [withHeaders({ "x-api-key": "other", "X-Other": "1" })],
  });

  await remote.get("t1");

  expect(agent.last.headers).toMatchObject({ "x-api-key": "secret", "x-other": "1" });
});

describe("an invalid header is an error that does not repeat its value", () => {
  for (const [name, value, problem] of [
    ["Authorization", "Bearer secret", 'the header "Authorization" is reserved'],
    ["A2A-Version", "secret", 'the header "A2A-Version" is reserved'],
    ["grpc-timeout", "secret", 'the header "grpc-timeout" is reserved'],
    ["two words", "secret", 'the header name "two words" cannot be sent'],
    ["X-Line", "secret\r\nHost: evil", 'the header "X-Line" holds characters'],
  ] as const) {
    test(name, async () => {
      const agent = await startTaskAgent();
      const remote = await connect(agent.url, { interceptors: [withHeaders({ [name]: value })] });

      const error = await remote.get("t1").catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toContain(problem);
      expect((error as Error).message).not.toContain("secret");
      expect(agent.seen.filter(({ call }) => call !== undefined)).toEqual([]);
    });
  }
});

test("the duration of calls and streams can be measured", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "GetTask" ? result(call, TASK) : events(call, [aTask("COMPLETED")]),
  });
  const measured: string[] = [];
  const report = (operation: string, ms: number): void => {
    expect(ms).toBeGreaterThan(0);
    measured.push(operation);
  };
  const remote = await connect(agent.url, { interceptors: [withTiming(report)] });

  await remote.get("t1");
  await remote.stream("hi").result;

  expect(measured).toEqual(["getTask", "sendStreamingMessage"]);
});

test("successes and failures can be logged", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "GetTask"
        ? failure(call, { code: -32001, message: "no such task" })
        : events(call, [aTask("COMPLETED")]),
  });
  const lines: string[] = [];
  const remote = await connect(agent.url, { interceptors: [withLogging((l) => lines.push(l))] });

  await remote.stream("hi").result;
  await expect(remote.get("t1")).rejects.toThrow("no such task");

  expect(lines).toEqual([
    "sendStreamingMessage started",
    "sendStreamingMessage ended",
    "getTask failed: no such task",
  ]);
});

test("an interceptor that fails ends the call with its own error, and nothing is sent", async () => {
  const agent = await startTaskAgent();
  const broken: Interceptor = () => ({
    call: () => Promise.reject(new RangeError("over quota")),
    stream() {
      throw new RangeError("over quota");
    },
  });
  const remote = await connect(agent.url, { interceptors: [broken] });

  await expect(remote.get("t1")).rejects.toThrow(RangeError);
  await expect(remote.stream("hi").result).rejects.toThrow(RangeError);

  expect(agent.seen.filter(({ call }) => call !== undefined)).toEqual([]);
});

test("the interceptors in the guide are the ones that run here", () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
  const [, part = ""] = read("../../docs/guide/interceptors.md").split("## Calling agents");
  const known = read("./interceptor-snippets.ts");
  const blocks = [...part.matchAll(/```ts\n([^]*?)```/g)].map(([, code = ""]) => code);
  const definitions = blocks.filter((code) => code.includes("export const"));

  expect(definitions).toHaveLength(3);
  for (const code of definitions) {
    expect(known).toContain(code.slice(code.indexOf("export const")).trim());
  }
});
