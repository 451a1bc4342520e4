import { once } from "node:events";
import { type Socket, connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { ServeAgentOptions } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { ForkedServer } from "./forked-server.ts";
import { FLAG, FRAME, PREFACE, encodeFrame, encodeHeaders, uint32 } from "./http2-frames.ts";

// Short byte sequences that a port without a token must survive.

const CARD = "/.well-known/agent-card.json";
const KEEP_ALIVE_MS = 60;
const SETTINGS = encodeFrame({ type: FRAME.settings });
const GOAWAY = encodeFrame({ type: FRAME.goaway, payload: Buffer.concat([uint32(0), uint32(0)]) });
/** Eight bytes are missing. */
const SHORT_PING = encodeFrame({ type: FRAME.ping });
/** A TLS record that declares more bytes than there are. */
const HANDSHAKE_BEGINNING = Buffer.from("1603010200", "hex");
const RESET = encodeFrame({ type: FRAME.rstStream, streamId: 1, payload: uint32(8) });

test.each(["http", "https"] as const)(
  "a client that sends GOAWAY over %s and keeps its socket open cannot end the process",
  async (scheme) => {
    const tls = scheme === "https" ? selfSigned() : undefined;
    const server = await aServer({ keepAliveMs: KEEP_ALIVE_MS, ...(tls && { tls }) });
    const before = await server.descriptors();
    const socket = await connect(server);

    socket.write(Buffer.concat([PREFACE, SETTINGS, GOAWAY]));
    await sleep(10 * KEEP_ALIVE_MS);

    expect(server.complaints).toBe("");
    expect(server.isRunning).toBe(true);
    await expect.poll(() => server.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before);
  },
);

test("a request that expects 100-continue and is reset immediately cannot end the process", async () => {
  const server = await aServer();
  const socket = await connect(server);

  // In one packet: the stream is reset before the server sees the request.
  socket.write(Buffer.concat([PREFACE, SETTINGS, aPost({ expect: "100-continue" }), RESET]));
  await sleep(200);

  expect(server.complaints).toBe("");
  expect((await fetch(new URL(CARD, server.url))).status).toBe(200);
});

test("a request that is reset before its body is read is not logged as a server error", async () => {
  const server = await aServer();
  const socket = await connect(server);

  const post = aPost({ ":path": "/message:send", "content-type": "application/json" });
  socket.write(Buffer.concat([PREFACE, SETTINGS, post, RESET]));
  await sleep(500);

  expect(server.complaints).toBe("");
});

test.each([
  ["http", "ends", (socket: Socket) => socket.end(PREFACE)],
  ["http", "resets", (socket: Socket) => socket.write(PREFACE, () => socket.resetAndDestroy())],
  ["https", "ends", (socket: Socket) => socket.end(PREFACE)],
] as const)(
  "connections over %s that a client opens and %s leak no descriptor",
  async (scheme, _how, leave) => {
    const server = await aServer(scheme === "https" ? { tls: selfSigned() } : {});
    const before = await server.descriptors();

    for (let count = 0; count < 50; count++) leave(await connect(server));

    await expect.poll(() => server.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before);
    expect(server.complaints).toBe("");
  },
);

test("a client that sends GOAWAY, breaks the protocol and disconnects leaks no descriptor", async () => {
  const server = await aServer();
  const before = await server.descriptors();

  for (let count = 0; count < 50; count++) {
    const socket = await connect(server);
    socket.write(Buffer.concat([PREFACE, SETTINGS, aPost({}), GOAWAY, SHORT_PING]));
    setImmediate(() => socket.destroy());
  }

  await expect.poll(() => server.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before);
});

test("a client that disconnects during the TLS handshake leaks no descriptor", async () => {
  const server = await aServer({ tls: selfSigned() });
  const before = await server.descriptors();

  for (let count = 0; count < 50; count++) {
    const socket = connectTcp(Number(server.url.port), server.url.hostname);
    await once(socket, "connect");
    socket.end(HANDSHAKE_BEGINNING);
  }

  await expect.poll(() => server.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before);
});

async function aServer(options: ServeAgentOptions = {}): Promise<ForkedServer> {
  const server = await ForkedServer.start(options);
  onTestFinished(() => server.stop());
  return server;
}

/** The headers of a request on stream 1 whose body has not arrived yet. */
function aPost(headers: Readonly<Record<string, string>>): Buffer {
  const pseudo = { ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "localhost" };
  const payload = encodeHeaders({ ...pseudo, ...headers });
  return encodeFrame({ type: FRAME.headers, flags: FLAG.endHeaders, streamId: 1, payload });
}

/** A connection that stays open on this side, whatever the server does. */
async function connect({ url }: ForkedServer): Promise<Socket> {
  const options = { host: url.hostname, port: Number(url.port), allowHalfOpen: true };
  const isSecure = url.protocol === "https:";
  const socket = isSecure
    ? connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ["h2"] })
    : connectTcp(options);
  socket.on("error", () => undefined);
  socket.resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, isSecure ? "secureConnect" : "connect");
  return socket;
}
