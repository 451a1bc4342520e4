import { once } from "node:events";
import { type Socket, connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { ServeAgentOptions } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { ForkedServer } from "./forked-server.ts";
import { FRAME, PREFACE, encodeFrame, uint32 } from "./http2-frames.ts";

// Short byte sequences that a port without a token must survive.

const KEEP_ALIVE_MS = 60;
const SETTINGS = encodeFrame({ type: FRAME.settings });
const GOAWAY = encodeFrame({ type: FRAME.goaway, payload: Buffer.concat([uint32(0), uint32(0)]) });

test.each(["http", "https"] as const)(
  "a client that says goodbye over %s and keeps its socket open cannot end the process",
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

async function aServer(options: ServeAgentOptions = {}): Promise<ForkedServer> {
  const server = await ForkedServer.start(options);
  onTestFinished(() => server.stop());
  return server;
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
