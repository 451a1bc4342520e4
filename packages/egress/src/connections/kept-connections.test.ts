import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readText } from "../http/read-body.ts";
import { createEgress } from "../create-egress.ts";
import { startServer } from "./local-server.suite.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** A handwritten server: `react` receives each request and its ordinal on its connection. */
async function startByHand(react: (socket: Socket, place: number, connection: number) => void) {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    let place = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      requests.push(bytes.toString().split(" ")[0] ?? "");
      place += 1;
      react(socket, place, connection);
    });
    onTestFinished(() => void socket.destroy());
  });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests, connections: () => connections };
}

describe("when a kept connection closes on a request", () => {
  /**
   * Responds to the first request of each connection; the next ones close it without a response.
   */
  const forgetful = (socket: Socket, place: number) => {
    if (place === 1) socket.write(OK);
    else socket.destroy();
  };

  test("a GET is sent once more over a new one", async () => {
    const server = await startByHand(forgetful);
    const egress = createEgress({ trusted: [server.url] });
    const get = async () => readText(await egress.request({ url: server.url }), undefined);

    expect([await get(), await get()]).toEqual(["ok", "ok"]);

    expect(server.requests).toEqual(["GET", "GET", "GET"]);
    expect(server.connections()).toBe(2);
  });

  test("but only once", async () => {
    const server = await startByHand((socket, _place, connection) => {
      if (connection === 1 && server.requests.length === 1) socket.write(OK);
      else socket.destroy();
    });
    const egress = createEgress({ trusted: [server.url] });
    await readText(await egress.request({ url: server.url }), undefined);

    await expect(egress.request({ url: server.url })).rejects.toMatchObject({ sent: true });

    expect(server.requests).toEqual(["GET", "GET", "GET"]);
  });

  test("a POST is not: it may have been processed, and the error says so", async () => {
    const server = await startByHand(forgetful);
    const egress = createEgress({ trusted: [server.url] });
    const call = { url: server.url, body: "{}" };
    await readText(await egress.request(call), undefined);

    await expect(egress.request(call)).rejects.toMatchObject({
      kind: "unreachable",
      sent: true,
      message: `no response from ${server.url}: the connection was closed (ECONNRESET)`,
    });

    expect(server.requests).toEqual(["POST", "POST"]);
  });

  test("a notification is, because receivers recognize it by its id", async () => {
    const server = await startByHand(forgetful);
    const egress = createEgress({ trusted: [server.url] });
    const ask = { headers: {}, body: "{}", timeoutMs: 20_000 };

    await egress.post(server.url, ask);
    const answer = await egress.post(server.url, ask);

    expect(answer.status).toBe(200);
    expect(server.requests).toEqual(["POST", "POST", "POST"]);
  });

  test("a POST that could not be written completely is sent once more", async () => {
    const body = "x".repeat(20_000_000);
    const server = await startByHand((socket, place, connection) => {
      if (connection === 1 && place > 1) socket.resetAndDestroy();
      else if (place === 1 && connection === 1) socket.write(OK);
      else if (socket.bytesRead > body.length) socket.write(OK);
    });
    const egress = createEgress({ trusted: [server.url] });
    await readText(await egress.request({ url: server.url, body: "{}" }), undefined);

    const answer = await egress.request({ url: server.url, body });

    expect(await readText(answer, undefined)).toBe("ok");
    expect(server.connections()).toBe(2);
  });
});

test("a POST over a new connection that closes is not repeated either", async () => {
  const server = await startByHand((socket) => socket.destroy());
  const egress = createEgress({ trusted: [server.url] });

  const attempt = egress.request({ url: server.url, body: "{}" });

  await expect(attempt).rejects.toMatchObject({ kind: "unreachable", sent: true });
  expect(server.requests).toEqual(["POST"]);
});

describe("a kept connection is not used again", () => {
  async function connectionsAfter(
    pausesMs: readonly number[],
    announced: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await startServer((response) => {
      response.setHeaders(new Map(Object.entries(announced)));
      response.end("ok");
    });
    const egress = createEgress({ trusted: [server.url] });
    for (const pauseMs of [0, ...pausesMs]) {
      vi.setSystemTime(Date.now() + pauseMs);
      await readText(await egress.request({ url: server.url, body: "{}" }), undefined);
    }
    expect(server.seen).toHaveLength(pausesMs.length + 1);
    return server.connections();
  }

  test("after a period in which the other side will have closed it", async () => {
    expect(await connectionsAfter([3900, 3900])).toBe(1);
    expect(await connectionsAfter([3900, 4100])).toBe(2);
  });

  test("after a period in which the other side said it would close it", async () => {
    expect(await connectionsAfter([1900], { "Keep-Alive": "timeout=3" })).toBe(1);
    expect(await connectionsAfter([2100], { "Keep-Alive": "timeout=3" })).toBe(2);
  });

  test("for more than five minutes, so that names can change", async () => {
    const oftenEnough = Array<number>(79).fill(3800);
    expect(await connectionsAfter(oftenEnough.slice(0, 78))).toBe(1);
    expect(await connectionsAfter(oftenEnough)).toBe(2);
  });
});

test("idle connections do not outlive their time", async () => {
  const server = await startServer();
  const egress = createEgress({ trusted: [server.url] });

  await readText(await egress.request({ url: server.url }), undefined);

  expect(server.open()).toBe(1);
  await vi.waitFor(() => expect(server.open()).toBe(0), 20_000);
});

test("after close() requests continue and new ones are made, but no connection is kept", async () => {
  let finish = () => {};
  const server = await startServer((response, { path }) => {
    if (path !== "/slow") response.end("fast");
    else {
      response.write("slow");
      finish = () => response.end();
    }
  });
  const egress = createEgress({ trusted: [server.url] });
  const running = await egress.request({ url: `${server.url}/slow` });

  egress.close();
  finish();

  expect(await readText(running, undefined)).toBe("slow");
  for (let count = 0; count < 2; count++) {
    expect(await readText(await egress.request({ url: server.url }), undefined)).toBe("fast");
  }
  // One for each request.
  expect(server.connections()).toBe(3);
  await vi.waitFor(() => expect(server.open()).toBe(0), 20_000);
});
