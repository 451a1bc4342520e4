import { type Socket, connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { TLSSocket, connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { randomFrom } from "../harness/random.ts";
import { type Random, below, many, pick, split } from "./dice.ts";
import { ForkedServer } from "./forked-server.ts";
import { http1Bytes } from "./http1-bytes.ts";
import { http2Bytes } from "./http2-bytes.ts";

// The short form; `npm run test:fuzz` runs the full size.
const CONNECTIONS = Number(process.env["CONVOKE_FUZZ_CONNECTIONS"] ?? 80);
const SEED = Number(process.env["CONVOKE_FUZZ_SEED"] ?? Date.now() % 1_000_000);
/** No connection starts after this; the open ones end within moments. */
const BUDGET_MS = 10_000 + 10 * CONNECTIONS;
const TIMEOUT_MS = BUDGET_MS + 60_000;
const AT_ONCE = 32;
const MB = 1024 * 1024;
/** So short that keep-alive pings hit sessions in every state. */
const KEEP_ALIVE_MS = 60;

describe.each(["http", "https"] as const)(`malformed bytes over %s, seed ${SEED}`, (scheme) => {
  let server: ForkedServer;
  /** A handshake costs as much as twenty connections without one. */
  const connections = Math.ceil(CONNECTIONS / (scheme === "https" ? 20 : 1));

  beforeAll(async () => {
    const tls = scheme === "https" ? { tls: selfSigned() } : {};
    server = await ForkedServer.start({ keepAliveMs: KEEP_ALIVE_MS, ...tls });
  });

  afterAll(() => server.stop());

  test.each([
    ["HTTP/1", "http/1.1", http1Bytes],
    ["HTTP/2", "h2", http2Bytes],
  ] as const)(
    "%s: the server keeps running, and its memory does not grow",
    async (_name, protocol, bytesFrom) => {
      await expectAnswer(server);
      const before = { ...(await server.usage()), descriptors: await server.descriptors() };

      const opened = await attack({ server, protocol, bytesFrom, connections });

      expect(server.complaints).toBe("");
      expect(opened).toBeGreaterThan(0);
      await expectAnswer(server);
      await expect
        .poll(() => server.descriptors(), { timeout: 30_000, interval: 200 })
        .toBeLessThanOrEqual(before.descriptors);
      // The memory store keeps up to a thousand ended tasks.
      expect((await server.usage()).heapBytes - before.heapBytes).toBeLessThan(60 * MB);
    },
    TIMEOUT_MS,
  );
});

async function expectAnswer({ url }: ForkedServer): Promise<void> {
  const socket = open(url, "http/1.1");
  let answer = "";
  socket.on("data", (piece: Buffer) => (answer += piece.toString("latin1")));
  socket.write(
    "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
  );
  socket.on("end", () => socket.destroy());
  await closed(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
}

interface Attack {
  readonly server: ForkedServer;
  readonly protocol: string;
  readonly bytesFrom: (random: Random) => Buffer;
  readonly connections: number;
}

/**
 * Each connection has its own seed, so that its bytes do not depend on the others. Resolves to how
 * many were opened.
 */
async function attack({ server, protocol, bytesFrom, connections }: Attack): Promise<number> {
  const deadline = performance.now() + BUDGET_MS;
  let opened = 0;
  await many(AT_ONCE, connections, async (index) => {
    if (!server.isRunning || performance.now() > deadline) return;
    const random = randomFrom(SEED + index);
    const bytes = bytesFrom(random);
    const socket = open(server.url, protocol);
    const ready = new Promise<void>((resolve) => {
      socket.once(protocolReady(server.url), () => {
        opened++;
        resolve();
      });
      socket.once("close", () => resolve());
    });
    // On a busy machine, the others leave before a handshake has ended.
    if (index % 2 === 0) await ready;
    if (socket.closed) return;
    await converse(socket, random() < 0.5 ? [bytes] : split(bytes, random), random);
  });
  return opened;
}

function open(url: URL, protocol: string): Socket {
  const options = { host: url.hostname, port: Number(url.port), allowHalfOpen: true };
  const socket =
    url.protocol === "https:"
      ? connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: [protocol] })
      : connectTcp(options);
  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  return socket;
}

function protocolReady(url: URL): string {
  return url.protocol === "https:" ? "secureConnect" : "connect";
}

/** Sends the chunks, reads or does not read, and disconnects in one of several ways. */
async function converse(socket: Socket, pieces: readonly Buffer[], random: Random): Promise<void> {
  const left = closed(socket);
  if (random() < 0.9) socket.resume();
  for (const piece of pieces) {
    socket.write(piece);
    if (random() < 0.5) await sleep(below(3, random));
  }
  await pick(FAREWELLS, random)(socket, random);
  await left;
}

/** Unlike `once` of node:events it ignores an earlier error. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

type Farewell = (socket: Socket, random: Random) => Promise<void>;

const leaveAtOnce: Farewell = async (socket) => {
  socket.destroySoon();
  // What it sends may never be read.
  setTimeout(() => socket.destroy(), 1000).unref();
};

const readThenLeave: Farewell = async (socket, random) => {
  await sleep(below(20, random));
  socket.destroy();
};

const resetSoon: Farewell = async (socket, random) => {
  await sleep(below(5, random));
  // Only a TCP socket can be reset.
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
};

/** Ends its own side, and waits a moment for the server to end the other. */
const endThenRead: Farewell = async (socket, random) => {
  socket.resume();
  socket.end();
  await sleep(below(50, random));
  socket.destroy();
};

/** Stays for several keep-alives, whatever the server does. */
const stay: Farewell = async (socket) => {
  await sleep(4 * KEEP_ALIVE_MS);
  socket.destroy();
};

const FAREWELLS: readonly Farewell[] = [
  leaveAtOnce,
  leaveAtOnce,
  readThenLeave,
  readThenLeave,
  readThenLeave,
  resetSoon,
  resetSoon,
  endThenRead,
  endThenRead,
  stay,
];
