import { once } from "node:events";
import { type ClientHttp2Session, type Http2Server, createServer } from "node:http2";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { keptPort } from "../../../../test/harness/kept-port.ts";
import { createEgress } from "../create-egress.ts";
import { startServer } from "./local-server.suite.ts";

/** An HTTP/2 server without TLS that responds with the path, except to `/slow`. */
async function startHttp2(port = 0) {
  const sessions = new Set<{ destroy(): void; goaway(): void }>();
  let opened = 0;
  const server: Http2Server = createServer((request, response) => {
    if (request.url !== "/slow") response.end(request.url);
  });
  server.on("session", (session) => {
    opened += 1;
    sessions.add(session);
    session.on("error", () => {});
    session.on("close", () => sessions.delete(session));
  });
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    for (const session of sessions) session.destroy();
    await closed;
  };
  onTestFinished(stop);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: found } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${found}`, port: found, opened: () => opened, sessions, stop };
}

async function ask(session: ClientHttp2Session, path: string): Promise<string> {
  const stream = session.request({ ":path": path });
  const [answer] = await Promise.all([text(stream), once(stream, "close")]);
  return answer;
}

test("all requests to an origin share a session, also concurrent ones", async () => {
  const server = await startHttp2();
  const egress = createEgress({ trusted: [server.url] });

  const [first, second] = await Promise.all([
    egress.openHttp2(`${server.url}/one`),
    egress.openHttp2(`${server.url}/two`),
  ]);
  const third = await egress.openHttp2(server.url);

  // Not with toBe: a session cannot be printed.
  expect([second === first, third === first]).toEqual([true, true]);
  expect(await ask(first, "/hello")).toBe("/hello");
  expect(server.opened()).toBe(1);
});

test("a session that the other side closed is replaced", async () => {
  const server = await startHttp2(await keptPort());
  const egress = createEgress({ trusted: [server.url] });
  const first = await egress.openHttp2(server.url);
  const closed = once(first, "close");

  await server.stop();
  await closed;
  await startHttp2(server.port);
  const second = await egress.openHttp2(server.url);

  expect(second === first).toBe(false);
  expect(await ask(second, "/again")).toBe("/again");
});

test("a session that the other side wants to end gets no new requests", async () => {
  const server = await startHttp2();
  const egress = createEgress({ trusted: [server.url] });
  const first = await egress.openHttp2(server.url);
  const told = once(first, "goaway");

  for (const session of server.sessions) session.goaway();
  await told;

  const second = await egress.openHttp2(server.url);
  expect(second === first).toBe(false);
  expect(await ask(second, "/again")).toBe("/again");
});

test("a caller that gives up does not affect the session of others", async () => {
  const server = await startHttp2();
  const egress = createEgress({ trusted: [server.url] });
  const controller = new AbortController();

  const impatient = egress.openHttp2(server.url, { signal: controller.signal });
  const patient = egress.openHttp2(server.url);
  controller.abort(new Error("enough"));

  await expect(impatient).rejects.toThrow("enough");
  expect(await ask(await patient, "/hello")).toBe("/hello");
  await expect(egress.openHttp2(server.url, { signal: controller.signal })).rejects.toThrow(
    "enough",
  );
});

test("close() ends sessions when their requests have ended", async () => {
  const server = await startHttp2();
  const egress = createEgress({ trusted: [server.url] });
  const session = await egress.openHttp2(server.url);
  const answer = ask(session, "/hello");

  egress.close();

  expect(await answer).toBe("/hello");
  await vi.waitFor(() => expect(server.sessions.size).toBe(0), { timeout: 20_000 });
});

describe("after a while", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  function skip(ms: number): void {
    vi.setSystemTime(Date.now() + ms);
  }

  test("without use, a session is not used again", async () => {
    const server = await startHttp2();
    const egress = createEgress({ trusted: [server.url] });
    const first = await egress.openHttp2(server.url);
    await ask(first, "/one");

    skip(50_000);
    expect((await egress.openHttp2(server.url)) === first).toBe(true);
    skip(20_000);
    expect((await egress.openHttp2(server.url)) === first).toBe(false);

    await vi.waitFor(() => expect(first.closed).toBe(true), { timeout: 20_000 });
  });

  test("a busy session gets no new requests, and its running ones continue", async () => {
    const server = await startHttp2();
    const egress = createEgress({ trusted: [server.url] });
    const first = await egress.openHttp2(server.url);
    const running = first.request({ ":path": "/slow" });
    await once(first, "localSettings");

    skip(299_000);
    expect((await egress.openHttp2(server.url)) === first).toBe(true);
    skip(2000);
    const second = await egress.openHttp2(server.url);

    expect(second === first).toBe(false);
    expect([running.closed, first.destroyed]).toEqual([false, false]);
    running.close();
  });
});

describe("a failed session has a clear error, and nothing was sent", () => {
  test("for an address that is not public", async () => {
    const server = await startHttp2();
    const egress = createEgress({ resolve: () => Promise.resolve(["127.0.0.1"]) });

    for (const url of [server.url, `http://evil.test:${server.port}`]) {
      const attempt = egress.openHttp2(url);
      await expect(attempt).rejects.toMatchObject({ kind: "refused", reason: "address" });
    }
    expect(server.opened()).toBe(0);
  });

  test("when no server listens", async () => {
    const egress = createEgress({ trusted: ["http://127.0.0.1:1"] });

    await expect(egress.openHttp2("http://127.0.0.1:1")).rejects.toMatchObject({
      kind: "unreachable",
      sent: false,
      message: "could not reach http://127.0.0.1:1: nothing is listening there (ECONNREFUSED)",
    });
  });

  test("when the server speaks HTTP/1.1", async () => {
    const server = await startServer();
    const egress = createEgress({ trusted: [server.url] });

    await expect(egress.openHttp2(server.url)).rejects.toMatchObject({
      kind: "unreachable",
      sent: false,
      message: `could not reach ${server.url}: it does not speak HTTP/2 (ERR_HTTP2_ERROR)`,
    });
    expect(server.seen).toEqual([]);
  });

  test("when the server sends nothing at all", async () => {
    const silent = createTcpServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const egress = createEgress({ trusted: [url], connectTimeoutMs: 50 });

    await expect(egress.openHttp2(url)).rejects.toMatchObject({
      kind: "unreachable",
      sent: false,
      message: `could not reach ${url}: no connection within 50 milliseconds`,
    });
  });
});
