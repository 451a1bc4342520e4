import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { readText } from "../http/read-body.ts";
import type { HttpAnswer } from "../http/http-client.ts";
import { createEgress } from "../create-egress.ts";
import { startServer } from "./local-server.suite.ts";

function egressTo(url: string) {
  return createEgress({ trusted: [url] });
}

function textOf(answer: HttpAnswer): Promise<string> {
  return readText(answer, undefined);
}

test("a response has its head immediately and its body chunk by chunk", async () => {
  let finish = () => {};
  const server = await startServer((response) => {
    response.writeHead(201, "Made", { "X-Answer": "yes", "Set-Cookie": ["a=1", "b=2"] });
    response.write("one ");
    finish = () => response.end("two");
  });

  const answer = await egressTo(server.url).request({
    url: `${server.url}/in?key=1`,
    headers: { "X-One": "1" },
    body: '{"ä":1}',
  });

  expect(answer).toMatchObject({
    status: 201,
    statusText: "Made",
    headers: { "x-answer": "yes", "set-cookie": "a=1, b=2" },
    url: `${server.url}/in?key=1`,
  });
  const pieces = [];
  for await (const piece of answer.body) {
    pieces.push(Buffer.from(piece).toString());
    finish();
  }
  expect(pieces).toEqual(["one ", "two"]);
  expect(server.seen).toMatchObject([
    { method: "POST", path: "/in?key=1", headers: { "x-one": "1", "content-length": "8" } },
  ]);
});

test("without a body it is a GET, and any method can be used", async () => {
  const server = await startServer((response) => response.writeHead(204).end());
  const egress = egressTo(server.url);

  await textOf(await egress.request({ url: server.url }));
  await textOf(await egress.request({ url: server.url, method: "DELETE" }));
  await textOf(await egress.request({ url: server.url, method: "POST" }));

  expect(server.seen.map(({ method }) => method)).toEqual(["GET", "DELETE", "POST"]);
  expect(server.connections()).toBe(1);
});

test("a body larger than the caller's limit is not read further, and its connection is closed", async () => {
  const server = await startServer((response) => response.end("x".repeat(1_000_000)));
  const answer = await egressTo(server.url).request({ url: server.url });

  await expect(readText(answer, undefined, 1000)).rejects.toMatchObject({
    kind: "unreadable",
    message: expect.stringContaining("larger than 1000 bytes") as unknown,
  });

  await server.seen[0]?.closed;
});

test("a truncated body is a lost connection, with a clear text", async () => {
  const server = await startServer((response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("half", () => response.destroy());
  });
  const answer = await egressTo(server.url).request({ url: server.url });

  await expect(textOf(answer)).rejects.toMatchObject({
    kind: "unreachable",
    sent: true,
    message: `the connection to ${server.url} was lost: the connection was closed (ECONNRESET)`,
  });
});

describe("a reader that does not read to the end leaves no connection behind", () => {
  test("after the first chunk, before it, or because of its own error", async () => {
    const server = await startServer((response) => void response.write("never ends"));
    const egress = egressTo(server.url);

    for (let count = 0; count < 5; count++) {
      for await (const _piece of (await egress.request({ url: server.url })).body) break;
      await (await egress.request({ url: server.url })).body[Symbol.asyncIterator]().return?.();
      const failing = async () => {
        for await (const _piece of (await egress.request({ url: server.url })).body) {
          throw new Error("mine");
        }
      };
      await expect(failing()).rejects.toThrow("mine");
    }

    await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
    expect(server.connections()).toBe(15);
  });

  test("even if the other side has ended while nothing was read", async () => {
    const server = await startServer((response) => {
      response.write("first");
      setTimeout(() => response.destroy(), 20);
    });

    const answer = await egressTo(server.url).request({ url: server.url });
    await server.seen[0]?.closed;

    await expect(textOf(answer)).rejects.toMatchObject({ kind: "unreachable" });
    expect(server.open()).toBe(0);
  });
});

describe("a signal", () => {
  test("ends the wait for a name, for a response and for a chunk immediately", async () => {
    const server = await startServer((response, { path }) => {
      if (path === "/piece") response.write("first");
    });
    const slow = createEgress({ resolve: () => new Promise(() => {}) });
    const egress = egressTo(server.url);

    const name = aborting((signal) => slow.request({ url: "http://slow.test/", signal }));
    await expect(name).rejects.toThrow("enough");
    const head = aborting((signal) => egress.request({ url: `${server.url}/head`, signal }));
    await expect(head).rejects.toThrow("enough");
    const piece = aborting(async (signal) => {
      const answer = await egress.request({ url: `${server.url}/piece`, signal });
      await readText(answer, signal);
    });
    await expect(piece).rejects.toThrow("enough");

    await vi.waitFor(() => expect(server.open()).toBe(0), { timeout: 20_000 });
  });

  test("that aborts after the head arrived prevents reading what has arrived", async () => {
    const server = await startServer((response) => void response.write("first"));
    const controller = new AbortController();
    const { signal } = controller;
    const answer = await egressTo(server.url).request({ url: server.url, signal });

    controller.abort(new Error("enough"));

    await expect(readText(answer, signal)).rejects.toThrow(/^enough$/);
    await server.seen[0]?.closed;
  });

  test("has no listener left when a response was read, or no server was there", async () => {
    const server = await startServer((response) => response.end("done"));
    const { signal } = new AbortController();
    const egress = createEgress({ trusted: [server.url, "http://127.0.0.1:1"] });

    await textOf(await egress.request({ url: server.url, signal }));
    await expect(egress.request({ url: "http://127.0.0.1:1/", signal })).rejects.toThrow(
      "nothing is listening",
    );

    await vi.waitFor(() => expect(getEventListeners(signal, "abort")).toHaveLength(0), {
      timeout: 20_000,
    });
  });
});

test("a connection that cannot be established is given up, and certainly nothing was sent", async () => {
  const egress = createEgress({ resolve: () => new Promise(() => {}), connectTimeoutMs: 50 });

  await expect(egress.request({ url: "http://slow.test/?key=secret" })).rejects.toMatchObject({
    kind: "unreachable",
    reason: "timeout",
    sent: false,
    message: "could not reach http://slow.test: no connection within 50 milliseconds",
  });
});

test("a request that the policy rejected was not sent", async () => {
  await expect(createEgress().request({ url: "http://127.0.0.1/" })).rejects.toMatchObject({
    name: "EgressError",
    kind: "refused",
    reason: "address",
    sent: false,
  });
});

function aborting<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("enough")), 50);
  return work(controller.signal);
}
