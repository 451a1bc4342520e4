import { Agent, request } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { many, noise, pick, spoiltBytes } from "./dice.ts";
import { ForkedServer } from "./forked-server.ts";
import { PREFACE } from "./http2-frames.ts";
import { mutated } from "./mutate.ts";
import { framed } from "./port-requests.ts";
import { JSONRPC, REST, type Target, grpcTargets } from "./targets.ts";

// The short form; `npm run test:fuzz` runs the full size.
const RUNS = Number(process.env["CONVOKE_FUZZ_RUNS"] ?? 400);
const SEED = Number(process.env["CONVOKE_FUZZ_SEED"] ?? Date.now() % 1_000_000);
const TIMEOUT_MS = 60_000 + 2 * RUNS;
/** Maximum time for any response. A stream is closed once its headers have arrived. */
const WITHIN_MS = 30_000;
const MB = 1024 * 1024;

let server: ForkedServer;
const keepAlive = new Agent({ keepAlive: true, maxSockets: 16 });

beforeAll(async () => {
  server = await ForkedServer.start();
});

afterAll(() => {
  keepAlive.destroy();
  server.stop();
});

describe(`malformed requests, seed ${SEED}`, () => {
  test.each([
    ["JSON-RPC", JSONRPC],
    ["REST", REST],
  ] as const)(
    "%s: no internal error, no hang, no crash",
    async (_name, targets) => {
      const random = randomFrom(SEED);
      const before = await heap();
      const faults: string[] = [];
      await many(16, RUNS, async () => {
        const target = pick(targets, random);
        const spoilt = spoil(target, random);
        const { status, body } = await send(spoilt);
        // JSON-RPC reports its own failures with 200.
        const isOurs = status >= 500 || body.includes('"code":-32603');
        if (isOurs) faults.push(`${status} ${JSON.stringify(spoilt).slice(0, 500)} → ${body}`);
      });

      expect(faults).toEqual([]);
      await expectHealthy(before);
    },
    TIMEOUT_MS,
  );

  test(
    "gRPC: no internal error, no hang, no crash",
    async () => {
      const random = randomFrom(SEED);
      const targets = grpcTargets();
      const before = await heap();
      const session = connectHttp2(server.url);
      session.on("error", () => undefined);
      const faults: string[] = [];
      await many(16, RUNS, async () => {
        const { path, bytes } = pick(targets, random);
        const status = await callGrpc(session, path, spoiltBytes(framed(bytes), random));
        // 13 is INTERNAL, 2 is UNKNOWN.
        if (status === "13" || status === "2") faults.push(`${status} ${path}`);
      });
      session.destroy();

      expect(faults).toEqual([]);
      await expectHealthy(before);
    },
    TIMEOUT_MS,
  );

  test(
    "raw bytes, and HTTP/2 where HTTP/1 is expected and vice versa",
    async () => {
      const random = randomFrom(SEED);
      const before = await heap();
      await many(8, Math.ceil(RUNS / 10), () => sendRaw(rawBytes(random)));

      await expectHealthy(before);
    },
    TIMEOUT_MS,
  );
});

/** The server responds, has logged no error, and holds about as much memory as before. */
async function expectHealthy(before: number): Promise<void> {
  const card = await fetch(new URL("/.well-known/agent-card.json", server.url));
  expect(card.status).toBe(200);
  expect(server.isRunning).toBe(true);
  expect(server.complaints).toBe("");
  // The memory store keeps up to a thousand ended tasks, and the unfinished ones.
  expect((await heap()) - before).toBeLessThan(60 * MB + RUNS * 2000);
}

async function heap(): Promise<number> {
  return (await server.usage()).heapBytes;
}

interface Spoilt {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

function spoil({ method, path, headers, body }: Target, random: () => number): Spoilt {
  const text = body === undefined ? undefined : JSON.stringify(mutated(body, random));
  const isCut = random() < 0.1;
  const odd = pick(ODD_HEADERS, random);
  return {
    method: random() < 0.05 ? pick(["GET", "PUT", "DELETE", "PATCH", "HEAD"], random) : method,
    path:
      random() < 0.1
        ? path.replace(/[a-z]/, pick(["%", "%2e", "/", "%ff", "A", ":"], random))
        : path,
    headers: { ...headers, ...(random() < 0.2 && odd) },
    body: isCut ? text?.slice(0, Math.floor(random() * text.length)) : text,
  };
}

const ODD_HEADERS: readonly Record<string, string>[] = [
  { "a2a-version": "9.9" },
  { "a2a-version": "1.0" },
  { "a2a-version": "0.3" },
  { "a2a-version": "x".repeat(2000) },
  { "last-event-id": "-1" },
  { "last-event-id": "9".repeat(500) },
  { "content-type": "text/plain" },
  { "content-type": "application/grpc" },
  { accept: "text/event-stream" },
  { traceparent: "00-zz" },
  { "a2a-extensions": ",,,," },
];

interface Answered {
  readonly status: number;
  readonly body: string;
}

function send({ method, path, headers, body }: Spoilt): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: server.url.hostname,
        port: server.url.port,
        method,
        path,
        headers,
        agent: keepAlive,
      },
      (response) => {
        const status = response.statusCode ?? 0;
        if (response.headers["content-type"] !== "text/event-stream") {
          void text(response).then((answer) => resolve({ status, body: answer }), reject);
          return;
        }
        resolve({ status, body: "" });
        response.destroy();
      },
    );
    asked.setTimeout(WITHIN_MS, () => reject(new Error(`no answer to ${method} ${path} ${body}`)));
    // A connection that the server has closed, or a path that Node itself does not send.
    asked.on("error", () => resolve({ status: 0, body: "" }));
    asked.end(body);
  });
}

function callGrpc(session: ClientHttp2Session, path: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    let status = "";
    stream.on("trailers", (trailers) => {
      status = String(trailers["grpc-status"]);
    });
    // A stream of an unfinished task: closing it is enough.
    stream.on("data", () => stream.close());
    stream.on("close", () => resolve(status));
    stream.on("error", () => resolve(status));
    stream.setTimeout(WITHIN_MS, () => reject(new Error(`no answer to ${path}`)));
    stream.end(body);
  });
}

function rawBytes(random: () => number): Buffer {
  const rest = noise(Math.floor(random() * 300), random);
  const preface = PREFACE.toString("latin1");
  const beginning = pick(
    [
      "",
      preface,
      "PRI",
      "PR",
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n${preface}`,
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
      `${preface}GET / HTTP/1.1\r\n\r\n`,
      "\u0016\u0003\u0001",
    ],
    random,
  );
  return Buffer.concat([Buffer.from(beginning, "latin1"), rest]);
}

function sendRaw(bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTcp(Number(server.url.port), server.url.hostname, () =>
      socket.end(bytes),
    );
    socket.setTimeout(300, () => socket.destroy());
    socket.on("error", () => undefined);
    socket.on("data", () => undefined);
    socket.on("close", () => resolve());
  });
}
