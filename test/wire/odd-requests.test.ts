import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { defineAgent } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { readAll } from "../conformance/reading.ts";
import { refusalOf } from "../conformance/refusal.ts";
import { aRequest } from "../conformance/requests.ts";
import { grpcSpeaker } from "../conformance/speakers.ts";
import { post, rpcText } from "./rpc.ts";
import { useServer } from "./wire-server.ts";

const server = useServer(
  defineAgent({
    name: "patient",
    description: "Works until it is canceled.",
    run: ({ signal }) => new Promise<string>((resolve) => (signal.onabort = () => resolve(""))),
  }),
  { limits: { bodyBytes: 1000 } },
);

const CARD = "/.well-known/agent-card.json";
const JSON_TYPE = { "content-type": "application/json" };

/** The status for a request that is sent verbatim. */
async function statusOf(request: string): Promise<string> {
  const socket = connectTcp(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`${request}Connection: close\r\n\r\n`, "latin1");
  return (await text(socket)).slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
}

function aSession(): ClientHttp2Session {
  const session = connectHttp2(server.url);
  onTestFinished(() => session.destroy());
  return session;
}

describe("a request with an absolute URL", () => {
  test("is served for the host in the URL, regardless of its Host header", async () => {
    expect(await statusOf(`GET http://localhost${CARD} HTTP/1.1\r\nHost: evil.example\r\n`)).toBe(
      "200",
    );
    expect(await statusOf(`GET http://evil.example${CARD} HTTP/1.1\r\nHost: localhost\r\n`)).toBe(
      "403",
    );
  });
});

describe("over HTTP/2", () => {
  test("a Host header that differs from :authority is rejected", async () => {
    const ask = async (host: string): Promise<unknown> => {
      const stream = aSession().request({ ":path": CARD, ":authority": "localhost", host });
      const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
      return headers[":status"];
    };

    expect(await ask("127.0.0.1")).toBe(403);
    expect(await ask("LOCALHOST")).toBe(200);
  });

  test("a body that is too large is not read to its end", async () => {
    const stream = aSession().request({ ":method": "POST", ":path": "/", ...JSON_TYPE });
    stream.on("error", () => undefined);
    stream.resume();
    const sending = setInterval(() => {
      if (!stream.closed) stream.write("x".repeat(1000));
    }, 1);
    onTestFinished(() => clearInterval(sending));

    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];

    expect(headers[":status"]).toBe(413);
    await expect.poll(() => stream.closed, { timeout: 20_000 }).toBe(true);
  });

  test("an aborted request is not logged as a server error", async () => {
    const before = server.log.length;
    const session = aSession();
    // A stream that is destroyed before there is a connection is never sent.
    await once(session, "connect");
    for (let count = 0; count < 20; count++) {
      const stream = session.request({ ":method": "POST", ":path": "/", ...JSON_TYPE });
      stream.on("error", () => undefined);
      if (count % 2 === 0) stream.write("{");
      setTimeout(() => stream.destroy(), count);
    }
    await once(session.request({ ":path": CARD }).resume(), "close");
    session.destroy();

    await expect
      .poll(() => server.log.slice(before).filter((line) => line.includes('"/"')).length)
      .toBeGreaterThan(10);
    expect(server.log.slice(before).filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});

test("a compressed body is 415, and the error names the header", async () => {
  const body = new Uint8Array(gzipSync(rpcText("tasks/get", { id: "x" })));

  const answer = await post(server.url, body, { "content-encoding": "gzip" });

  expect(answer.status).toBe(415);
  expect(answer.text).toContain("Content-Encoding is gzip");
});

describe("a cross-site request that needs no CORS preflight is rejected", () => {
  for (const path of [
    "convoke/pushes:replay",
    "convoke/approvals/x:answer",
    "tasks/x:cancel",
    "v1/tasks/x:cancel",
  ]) {
    test(`at /${path}`, async () => {
      const send = async (headers: Record<string, string>): Promise<number> =>
        (await fetch(server.url + path, { method: "POST", headers, body: "{}" })).status;

      expect(await send({ "content-type": "text/plain" })).toBe(415);
      expect(await send({ "content-type": "application/x-www-form-urlencoded; a=b" })).toBe(415);
      expect(await send({ ...JSON_TYPE, "sec-fetch-site": "cross-site" })).toBe(403);
      expect([200, 400, 404]).toContain(
        await send({ ...JSON_TYPE, "sec-fetch-site": "same-origin" }),
      );
    });
  }
});

describe.each(["0.3", "1.0"] as const)("gRPC %s", (version) => {
  const hasty = grpcSpeaker(server, version).with({ "grpc-timeout": "200m" });

  test("ends a call when the client's deadline has passed", async () => {
    const { message } = await refusalOf(hasty.send({ ...aRequest("hi"), blocking: true }));

    expect(message).toContain("the deadline of the client (200m) has passed");
  });

  test("ends a stream when the client's deadline has passed", async () => {
    const { message } = await refusalOf(readAll(hasty.stream(aRequest("hi"))));

    expect(message).toContain("the deadline of the client (200m) has passed");
  });

  test("rejects an invalid timeout", async () => {
    const odd = grpcSpeaker(server, version).with({ "grpc-timeout": "soon" });

    expect((await refusalOf(odd.get({ taskId: "x" }))).message).toContain("grpc-timeout");
  });
});

test.each(["application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text"])(
  "%s is not treated as gRPC",
  async (type) => {
    const answer = await post(`${server.url}a2a.v1.A2AService/GetTask`, "", {
      "content-type": type,
    });

    expect(answer.status).toBe(415);
  },
);

test("control characters in a request are escaped in the log", async () => {
  const stream = aSession().request({ ":path": "/\u009b31mred" });
  await once(stream.resume(), "close");

  expect(server.log.join("")).toContain("\\u009b31mred");
  expect(server.log.join("")).not.toContain("\u009b");
});
