import { defineAgent } from "convoke";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type ServeOptions, type Server, serve } from "@convoke/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryLogger } from "../engine/an-engine.ts";
import { type SecureVersion, connect as connectTls } from "node:tls";
import { verifies } from "../verifies.ts";
import { selfSigned } from "./self-signed.ts";

const agent = defineAgent({ name: "Plain", description: "Answers.", run: async () => "done" });
const CARD = "/.well-known/agent-card.json";

describe("one port", () => {
  test("serves HTTP/1.1 and HTTP/2", async () => {
    const { url } = await aServer();

    const old = await fetch(new URL(CARD, url));
    const session = http2To(url);
    const current = await over(session, { ":path": CARD });

    expect(((await old.json()) as { name: string }).name).toBe("Plain");
    expect(current.status).toBe(200);
    expect(JSON.parse(current.body)).toMatchObject({ name: "Plain" });
  });

  test("serves JSON-RPC over HTTP/2, as JSON and as events", async () => {
    const { url } = await aServer();
    const session = http2To(url);
    const message = { messageId: "m1", role: "user", parts: [{ kind: "text", text: "hi" }] };
    const rpc = (method: string, id: string): string =>
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: { message: { ...message, messageId: id } },
      });
    const headers = { ":method": "POST", ":path": "/", "content-type": "application/json" };

    const sent = await over(session, headers, rpc("message/send", "m1"));
    const streamed = await over(session, headers, rpc("message/stream", "m2"));

    expect(JSON.parse(sent.body)).toMatchObject({ result: { status: { state: "completed" } } });
    expect(streamed.type).toBe("text/event-stream");
    expect(streamed.body).toContain('"state":"completed"');
  });

  test.each(["1.1", "2"])("sends 100 Continue over HTTP/%s, and then responds", async (version) => {
    const { url } = await aServer();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: {} });

    const answer = await (version === "2"
      ? expectOverHttp2(http2To(url), body)
      : expectOverHttp1(url, body));

    expect(JSON.parse(answer)).toMatchObject({ id: 1, error: {} });
  });

  test("waits for the bytes that identify the protocol", async () => {
    const { port } = await aServer();
    const socket = connectTcp(port, "127.0.0.1");

    // P, PR: it could become PRI, POST or PROPFIND.
    for (const piece of [
      "G",
      "E",
      `T ${CARD} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    ]) {
      socket.write(piece);
      await sleep(20);
    }
    const second = connectTcp(port, "127.0.0.1");
    for (const piece of [
      "P",
      "R",
      "OPFIND / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ]) {
      second.write(piece);
      await sleep(20);
    }

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200/);
    expect(await text(second)).toMatch(/^HTTP\/1\.1 405/);
  });

  test("releases clients that disconnect without sending, and stops despite idle connections", async () => {
    const server = await aServer();
    const silent = connectTcp(server.port, "127.0.0.1");
    silent.on("error", () => undefined);
    await sleep(50);

    const began = performance.now();
    await server.close();

    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("rejects a foreign host over HTTP/2 too", async () => {
    const { url } = await aServer();

    const refused = await over(http2To(url), { ":path": CARD, ":authority": "evil.example" });

    expect(refused.status).toBe(403);
  });
});

describe("a port with a certificate", () => {
  test("serves HTTP/1.1 and HTTP/2 over TLS, and its card says so", async () => {
    const tls = selfSigned();
    const { url, port } = await aServer({ tls });

    const old = await new Promise<string>((resolve, reject) => {
      const asked = secureRequest(
        {
          host: "127.0.0.1",
          port,
          path: CARD,
          ca: tls.cert,
          servername: "localhost",
          headers: { host: "localhost" },
        },
        (response) => void text(response).then(resolve, reject),
      );
      asked.on("error", reject);
      asked.end();
    });
    const session = connectHttp2(`https://localhost:${port}`, { ca: tls.cert });
    onTestFinished(() => session.destroy());
    const current = await over(session, { ":path": CARD });

    expect(url).toBe(`https://127.0.0.1:${port}/`);
    const shown = { url: url.slice(0, -1) };
    expect(JSON.parse(old)).toMatchObject(shown);
    expect(JSON.parse(current.body)).toMatchObject(shown);
  });
});

verifies("v1-S62", "only current versions of TLS are spoken", async () => {
  const tls = selfSigned();
  const { port } = await aServer({ tls });
  // Old versions need a cipher list that permits them on the side of the client.
  const ciphers = "DEFAULT@SECLEVEL=0";
  const spoken = async (version: SecureVersion): Promise<string | null> => {
    const limits = { minVersion: version, maxVersion: version, ciphers };
    const socket = connectTls({ port, ca: tls.cert, servername: "localhost", ...limits });
    onTestFinished(() => void socket.destroy());
    await Promise.race([once(socket, "secureConnect"), once(socket, "close")]);
    return socket.getProtocol();
  };

  expect(await spoken("TLSv1.3")).toBe("TLSv1.3");
  expect(await spoken("TLSv1.2")).toBe("TLSv1.2");
  for (const version of ["TLSv1", "TLSv1.1"] as const) {
    await expect(spoken(version)).rejects.toThrow(/alert protocol version|ECONNRESET/);
  }
});

async function aServer(options: Partial<ServeOptions> = {}): Promise<Server> {
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: memoryLogger(),
    openBackend: async () => createMemoryBackend(),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

function http2To(url: string): ClientHttp2Session {
  const session = connectHttp2(url);
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

async function over(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: string,
): Promise<{ readonly status: number; readonly type: string; readonly body: string }> {
  const stream = session.request(headers);
  const answered = new Promise<Record<string, unknown>>((resolve, reject) => {
    stream.on("response", resolve);
    stream.on("error", reject);
  });
  stream.end(body);
  const answer = await answered;
  return {
    status: Number(answer[":status"]),
    type: String(answer["content-type"]),
    body: await text(stream),
  };
}

const EXPECTING = { "content-type": "application/json", expect: "100-continue" };

/** Sends the body once the server has asked for it. */
async function expectOverHttp2(session: ClientHttp2Session, body: string): Promise<string> {
  const stream = session.request({ ":method": "POST", ":path": "/", ...EXPECTING });
  await once(stream, "continue");
  stream.end(body);
  return text(stream);
}

async function expectOverHttp1(url: string, body: string): Promise<string> {
  const asked = request(url, { method: "POST", headers: EXPECTING });
  asked.flushHeaders();
  await once(asked, "continue");
  asked.end(body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return text(response);
}
