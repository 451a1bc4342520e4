import { Agent, type IncomingMessage, type RequestListener, request as open } from "node:http";
import { once } from "node:events";
import { connect } from "node:net";
import { buffer, text as textOf } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  type ByteSink,
  type ByteStreamControl,
  type HttpRequest,
  type HttpResponse,
  type RequestHandler,
  jsonResponse,
  resolveTimeouts,
} from "../http/exchange.ts";
import { listening } from "./listening.suite.ts";
import { createNodeListener, locateRequest } from "./node-listener.ts";

test.each([
  ["a bare server", {}, "", { url: "/tasks?a=1" }, "/tasks?a=1", ""],
  ["a base path", {}, "/agent", { url: "/agent/tasks?a=/agent" }, "/tasks?a=/agent", "/agent"],
  ["a base path alone", {}, "/agent", { url: "/agent?a=1" }, "/?a=1", "/agent"],
  [
    "Express",
    { baseUrl: "/agent", originalUrl: "/agent/tasks" },
    "",
    { url: "/tasks" },
    "/tasks",
    "/agent",
  ],
  [
    "Express at its root",
    { baseUrl: "", originalUrl: "/tasks" },
    "",
    { url: "/tasks" },
    "/tasks",
    "",
  ],
  [
    "Express, and a base path",
    { baseUrl: "/agent", originalUrl: "/agent/tasks" },
    "/agent",
    { url: "/tasks" },
    "/tasks",
    "/agent",
  ],
  [
    "Connect",
    { originalUrl: "/agent/tasks?a=1" },
    "",
    { url: "/tasks?a=1" },
    "/tasks?a=1",
    "/agent",
  ],
  ["Connect at its root", { originalUrl: "/tasks" }, "", { url: "/tasks" }, "/tasks", ""],
])("%s", (_name, framework, option, node, target, basePath) => {
  const incoming = { ...node, ...framework } as unknown as IncomingMessage;

  expect(locateRequest(incoming, option)).toEqual({ target, basePath });
});

type Handle = (request: HttpRequest) => Promise<HttpResponse>;

/** A handler on a real port, with defaults for everything else. */
function serving(handle: Handle, options: Partial<RequestHandler> = {}): Promise<string> {
  return listening(listenerFor(handle, options));
}

function listenerFor(handle: Handle, options: Partial<RequestHandler> = {}): RequestListener {
  let requests = 0;
  return createNodeListener({
    handle,
    basePath: "",
    maxBodyBytes: 1000,
    maxUnreadBytes: 1000,
    timeouts: resolveTimeouts(),
    reject: () => ({ status: 429, headers: {}, body: "" }),
    onLimit: () => undefined,
    requestId: () => `r-${++requests}`,
    onResponse: () => undefined,
    ...options,
  });
}

/** A response whose body is these pieces, each written on its own. */
function streamOf(pieces: readonly (string | Uint8Array)[]): HttpResponse {
  const open = (sink: ByteSink): ByteStreamControl => {
    for (const piece of pieces) sink.write(piece);
    sink.end();
    return { drained: () => undefined, closed: () => undefined };
  };
  return { status: 200, headers: {}, body: { open } };
}

test("a request reaches the handler with its path, query, headers and body", async () => {
  const seen = Promise.withResolvers<HttpRequest>();
  const url = await serving(async (request) => {
    seen.resolve(request);
    return jsonResponse(200, Buffer.from(await request.body()).toString());
  });

  const answer = await fetch(`${url}/some%20where?a=1&b=2%203`, {
    method: "POST",
    headers: { "X-Name": "Ann" },
    body: "hello",
  });

  const { method, path, query, headers } = await seen.promise;
  expect({ method, path }).toEqual({ method: "POST", path: "/some%20where" });
  expect(Object.fromEntries(query)).toEqual({ a: "1", b: "2 3" });
  expect(headers["x-name"]).toBe("Ann");
  expect(await answer.text()).toBe("hello");
});

test("a response has the id of its request, and the log has none of its content", async () => {
  const facts: unknown[] = [];
  const url = await serving(() => Promise.resolve(jsonResponse(201, "{}")), {
    onResponse: (fact) => facts.push(fact),
  });

  const first = await fetch(`${url}/path?secret=1`, { headers: { authorization: "Bearer x" } });
  const second = await fetch(url);

  expect(first.headers.get("x-request-id")).toBe("r-1");
  expect(second.headers.get("x-request-id")).toBe("r-2");
  expect(facts[0]).toEqual({ requestId: "r-1", method: "GET", path: "/path", status: 201 });
});

test("a response to HEAD has the length of the body and no body", async () => {
  const url = await serving(() => Promise.resolve(jsonResponse(200, '{"a":"ä"}')));

  const answer = await fetch(url, { method: "HEAD" });

  expect(answer.headers.get("content-length")).toBe("10");
  expect(await answer.text()).toBe("");
});

test("a 304 has no body headers", async () => {
  const url = await serving(() => Promise.resolve({ status: 304, headers: {}, body: "" }));

  const answer = await fetch(url);

  expect(answer.status).toBe(304);
  expect(answer.headers.get("content-length")).toBeNull();
});

test("an unread body closes the connection, after the response", async () => {
  const url = await serving(() => Promise.resolve(jsonResponse(401, '{"no":1}')));

  const answer = await fetch(url, { method: "POST", body: "x".repeat(1_000_000) });

  expect(answer.status).toBe(401);
  expect(await answer.json()).toEqual({ no: 1 });
  expect(answer.headers.get("connection")).toBe("close");
});

test("a client that is rejected while it sends can always read why", async () => {
  const url = await serving(() => Promise.resolve(jsonResponse(413, '{"too":"large"}')));
  const body = new Uint8Array(16 * 1024 * 1024);

  for (let round = 0; round < 20; round++) {
    const answer = await fetch(url, { method: "POST", body });

    expect(answer.status).toBe(413);
    expect(await answer.json()).toEqual({ too: "large" });
  }
});

test("a client that is rejected and never stops sending is disconnected", async () => {
  const url = await serving(() => Promise.resolve(jsonResponse(413, "{}")));
  const endless = open(url, { method: "POST" });
  const hungUp = new Promise((resolve) => endless.on("close", resolve));
  endless.on("error", () => undefined);
  endless.on("response", (answer) => answer.pause());
  const sending = setInterval(() => endless.write("more"), 10);

  await hungUp;

  clearInterval(sending);
});

test("a request that can no longer be handled is disconnected", async () => {
  const url = await serving(() => Promise.reject(new Error("the storage could not be opened")));

  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("a stream sends its headers before its first event", async () => {
  const sink = Promise.withResolvers<ByteSink>();
  const url = await serving(() =>
    Promise.resolve({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: {
        open: (given) => {
          sink.resolve(given);
          return { drained: () => undefined, closed: () => undefined };
        },
      },
    }),
  );

  const answer = await fetch(url);
  const opened = await sink.promise;
  opened.write("one ");
  opened.write("two");
  opened.end();

  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  expect(await answer.text()).toBe("one two");
});

test("the headers of a stream leave with what is ready in their turn of the event loop and the next", async () => {
  let flushes = 0;
  const url = new URL(
    await serving(async () => {
      const open = (sink: ByteSink): ByteStreamControl => {
        sink.write("opened");
        const flush = (): void => void sink.write(`, ready ${++flushes}`);
        return { drained: () => undefined, closed: () => undefined, flush };
      };
      return { status: 200, headers: {}, body: { open } };
    }),
  );
  const socket = connect(Number(url.port), url.hostname);
  onTestFinished(() => void socket.destroy());
  socket.write("GET / HTTP/1.1\r\nHost: here\r\n\r\n");

  const [first] = (await once(socket, "data")) as [Buffer];

  expect(first.toString()).toMatch(/^HTTP\/1\.1 200 .*opened\r\n.*, ready 1\r\n.*, ready 2\r\n$/s);
});

test("a stream arrives as it was written, and its connection is used again", async () => {
  const text = fc.string({ unit: "binary", maxLength: 20 });
  const long = fc.tuple(text, fc.integer({ min: 1, max: 2000 })).map(([one, n]) => one.repeat(n));
  const pieces = fc.array(fc.oneof(text, long, fc.uint8Array()), { maxLength: 8 });
  let sent: readonly (string | Uint8Array)[] = [];
  const url = await serving(() => Promise.resolve(streamOf(sent)));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let requests = 0;

  await fc.assert(
    fc.asyncProperty(pieces, async (given) => {
      sent = given;
      const request = open(url, { agent }).end();
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        request.on("response", resolve).on("error", reject);
      });

      expect(await buffer(answer)).toEqual(Buffer.concat(given.map((piece) => Buffer.from(piece))));
      expect(request.reusedSocket).toBe(requests++ > 0);
    }),
  );
  agent.destroy();
});

test("a stream to a client of HTTP/1.0 has no chunks", async () => {
  const url = new URL(await serving(() => Promise.resolve(streamOf(["one ", "two"]))));
  const socket = connect(Number(url.port), url.hostname);
  socket.write("GET / HTTP/1.0\r\n\r\n");

  expect(await textOf(socket)).toMatch(/\r\n\r\none two$/);
});

test("middleware that replaces `write` gets what the stream writes", async () => {
  const listener = listenerFor(() => Promise.resolve(streamOf(["one ", "two"])));
  const url = await listening((incoming, outgoing) => {
    const write = outgoing.write.bind(outgoing) as (piece: Uint8Array) => boolean;
    outgoing.write = (piece: string) => write(gzipSync(piece));
    listener(incoming, outgoing);
  });

  const answer = Buffer.from(await (await fetch(url)).arrayBuffer());

  expect(gunzipSync(answer).toString()).toBe("one two");
});

test("a stream is notified when its reader is behind, has caught up, and has left", async () => {
  const drained = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  const url = await serving(() =>
    Promise.resolve({
      status: 200,
      headers: {},
      body: {
        open: (sink) => {
          const page = "x".repeat(1_000_000);
          let left = 1000;
          while (left > 0 && sink.write(page)) left--;
          if (left > 0) full.resolve();
          return { drained: drained.resolve, closed: closed.resolve };
        },
      },
    }),
  );
  const reader = open(url).end();
  reader.on("error", () => undefined);

  await full.promise;
  reader.on("response", (incoming) => incoming.resume());
  await drained.promise;
  reader.destroy();

  await closed.promise;
});
