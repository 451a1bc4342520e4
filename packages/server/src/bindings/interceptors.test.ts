import { connect as connectHttp2 } from "node:http2";
import { createJsonLogger } from "@convoke/engine";
import { createMemoryBackend } from "@convoke/engine/memory";
import { A2AError, type Agent, agentMessage } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { frameGrpcMessage } from "@convoke/protocol/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { anAgentInfo } from "../cards/an-agent-info.suite.ts";
import { type Server, serve } from "../serve.ts";
import type { Interceptor } from "./interceptors.ts";

const AGENT: Agent = {
  info: anAgentInfo({ replies: true }),
  run: async function* () {
    yield agentMessage("m2", "Hello");
  },
};

const REQUEST = {
  message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "Hi" }] },
};

/** A server with interceptors until the test ends. */
async function aServer(...interceptors: readonly Interceptor[]): Promise<Server> {
  const server = await serve(AGENT, {
    port: 0,
    host: "127.0.0.1",
    logger: createJsonLogger("silent", () => undefined),
    openBackend: async () => createMemoryBackend(),
    interceptors,
  });
  onTestFinished(() => server.close());
  return server;
}

interface Response {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

type Send = (server: Server, kind: "unary" | "stream") => Promise<Response>;

/** Sends a message over each binding. */
const BINDINGS: Readonly<Record<string, Send>> = {
  "JSON-RPC": ({ url }, kind) => {
    const method = kind === "unary" ? "SendMessage" : "SendStreamingMessage";
    return post(url, { jsonrpc: "2.0", id: 1, method, params: REQUEST });
  },
  "HTTP+JSON": ({ url }, kind) =>
    post(`${url}message:${kind === "unary" ? "send" : "stream"}`, REQUEST),
  gRPC: ({ url }, kind) => {
    const operation = kind === "unary" ? "sendMessage" : "sendStreamingMessage";
    return callGrpc(url, operation);
  },
};

async function post(url: string, body: object): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", "x-team": "blue" },
    body: JSON.stringify(body),
  });
  return { headers: Object.fromEntries(response.headers), text: await response.text() };
}

async function callGrpc(url: string, operation: string): Promise<Response> {
  const method = GRPC_SERVICES["1.0"].methods.find((one) => one.operation === operation)!;
  const session = connectHttp2(url);
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": method.path,
      "content-type": "application/grpc+proto",
      te: "trailers",
      "x-team": "blue",
    });
    stream.end(frameGrpcMessage(method.encodeRequest(REQUEST)));
    let headers: object = {};
    let trailers: object = {};
    let text = "";
    stream.on("response", (given) => (headers = given));
    stream.on("trailers", (given) => (trailers = given));
    stream.setEncoding("latin1").on("data", (piece: string) => (text += piece));
    await new Promise((resolve) => stream.once("close", resolve));
    return { headers: { ...headers, ...trailers }, text };
  } finally {
    session.close();
  }
}

/** Adds a header to every response. */
const tagging: Interceptor = (next) => ({
  call(operation, request, context) {
    context.responseHeaders.set("x-served", `${operation} for ${context.headers.get("x-team")}`);
    return next.call(operation, request, context);
  },
  stream(operation, request, context) {
    context.responseHeaders.set("x-served", `${operation} for ${context.headers.get("x-team")}`);
    return next.stream(operation, request, context);
  },
});

describe.each(Object.entries(BINDINGS))("over %s", (_, send) => {
  test("a response header is added to a single response and to a stream", async () => {
    const server = await aServer(tagging);

    const unary = await send(server, "unary");
    const stream = await send(server, "stream");

    expect(unary.headers["x-served"]).toBe("sendMessage for blue");
    expect(unary.text).toContain("Hello");
    expect(stream.headers["x-served"]).toBe("sendStreamingMessage for blue");
    expect(stream.text).toContain("Hello");
  });

  test("an A2AError rejects the request, and the response keeps the added headers", async () => {
    const refusing: Interceptor = () => ({
      call: () => Promise.reject(new A2AError("Forbidden", "not on Sundays")),
      stream: () => Promise.reject(new A2AError("Forbidden", "not on Sundays")),
    });
    const server = await aServer(tagging, refusing);

    for (const kind of ["unary", "stream"] as const) {
      const { headers, text } = await send(server, kind);

      expect(decodeURIComponent(`${String(headers["grpc-message"])}${text}`)).toContain(
        "not on Sundays",
      );
      expect(text).not.toContain("Hello");
      expect(headers["x-served"]).toContain("for blue");
    }
  });

  test("a header of the protocol cannot be replaced", async () => {
    const replacing: Interceptor = (next) => ({
      ...next,
      call(operation, request, context) {
        context.responseHeaders.set("content-type", "text/html");
        return next.call(operation, request, context);
      },
    });
    const server = await aServer(replacing);

    const { headers } = await send(server, "unary");

    expect(headers["content-type"]).toMatch(/^application\//);
  });
});

test("the first interceptor is the outermost, and each is created once", async () => {
  const steps: string[] = [];
  const tracing =
    (name: string): Interceptor =>
    (next) => {
      steps.push(`create ${name}`);
      return {
        ...next,
        async call(operation, request, context) {
          steps.push(`${name} before`);
          const result = await next.call(operation, request, context);
          steps.push(`${name} after`);
          return result;
        },
      };
    };
  const server = await aServer(tracing("outer"), tracing("inner"));

  await BINDINGS["JSON-RPC"]!(server, "unary");
  await BINDINGS["HTTP+JSON"]!(server, "unary");

  const request = ["outer before", "inner before", "inner after", "outer after"];
  expect(steps).toEqual(["create inner", "create outer", ...request, ...request]);
});

test("an interceptor measures how long an operation takes", async () => {
  const timing: Interceptor = (next) => ({
    ...next,
    async call(operation, request, context) {
      const start = performance.now();
      try {
        return await next.call(operation, request, context);
      } finally {
        const ms = Math.round(performance.now() - start);
        context.responseHeaders.set("server-timing", `${operation};dur=${ms}`);
      }
    },
  });
  const server = await aServer(timing);

  const { headers } = await BINDINGS["HTTP+JSON"]!(server, "unary");

  expect(headers["server-timing"]).toMatch(/^sendMessage;dur=\d+$/);
});

test("an interceptor logs the caller, the operation and the result", async () => {
  const lines: string[] = [];
  const logging: Interceptor = (next) => ({
    ...next,
    async call(operation, request, context) {
      const result = await next.call(operation, request, context);
      const kind = (result as { readonly kind?: string } | undefined)?.kind;
      lines.push(`${context.caller.owner} ${operation} ${context.version}: ${kind}`);
      return result;
    },
  });
  const server = await aServer(logging);

  await BINDINGS["JSON-RPC"]!(server, "unary");

  expect(lines).toEqual(["anonymous sendMessage 1.0: message"]);
});

test("an interceptor can act for another caller", async () => {
  const impersonating: Interceptor = (next) => ({
    ...next,
    call: (operation, request, context) =>
      next.call(operation, request, { ...context, caller: { owner: "ann" } }),
  });
  const owners: string[] = [];
  const observing: Interceptor = (next) => ({
    ...next,
    call(operation, request, context) {
      owners.push(context.caller.owner);
      return next.call(operation, request, context);
    },
  });
  const server = await aServer(impersonating, observing);

  await BINDINGS["JSON-RPC"]!(server, "unary");

  expect(owners).toEqual(["ann"]);
});
