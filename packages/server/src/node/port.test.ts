import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NodeListener } from "./node-listener.ts";
import { DEFAULT_LIMITS } from "@convoke/engine";
import { resolveTimeouts } from "../http/exchange.ts";
import { Port } from "./port.ts";

const IDLE_MS = 100;

/** Responds to `/` immediately, and to everything else with headers and an open stream. */
const listener: NodeListener = (incoming, outgoing) => {
  outgoing.writeHead(200);
  if (incoming.url === "/") outgoing.end("done");
  else outgoing.flushHeaders();
};

describe("an HTTP/2 connection", () => {
  test("that never opens a stream is closed after the idle timeout", async () => {
    const session = await aSession();

    await once(session, "close");

    expect(session.destroyed).toBe(true);
  });

  test("whose last stream has ended gets a GOAWAY without an error", async () => {
    const session = await aSession();
    let code: number | undefined;
    session.on("goaway", (given) => (code = given));

    await drained(session.request({ ":path": "/" }));
    await once(session, "close");

    expect(code).toBe(0);
  });

  test("with an open stream stays, however long it is idle", async () => {
    const session = await aSession();
    const stream = session.request({ ":path": "/open" });
    await once(stream, "response");

    await sleep(5 * IDLE_MS);
    await drained(session.request({ ":path": "/" }));
    await sleep(5 * IDLE_MS);

    expect(session.closed).toBe(false);
    expect(stream.closed).toBe(false);
    stream.close();
    await once(session, "close");
  });
});

test("a client that has sent GOAWAY keeps its open streams", { timeout: 60_000 }, async () => {
  const session = await aSession();
  const stream = session.request({ ":path": "/open" });
  await once(stream, "response");

  session.goaway();
  // Longer than a client that does not respond would be kept.
  await sleep(10_000);

  expect(stream.closed).toBe(false);
});

async function aSession(): Promise<ClientHttp2Session> {
  const port = new Port({
    listener,
    timeouts: resolveTimeouts({ idleMs: IDLE_MS }),
    limits: DEFAULT_LIMITS,
    onLimit: () => undefined,
    onSession: () => () => undefined,
  });
  await new Promise<void>((resolve) => port.net.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => port.close());
  const session = connect(`http://127.0.0.1:${(port.net.address() as AddressInfo).port}`);
  onTestFinished(() => session.destroy());
  await once(session, "connect");
  return session;
}

async function drained(stream: ClientHttp2Stream): Promise<void> {
  stream.resume();
  await once(stream, "close");
}
