import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { type Behaviour, cardAt, serveHostile } from "./hostile-server.ts";
import { listenOn } from "./peer-server.ts";
import { check, resultOf, stumbles } from "./run-check.ts";

/** What a server answers is to be seen, not how fast. */
const PATIENT = ["--timeout", "20"];
/** For a server that is silent, and so takes all of it. */
const IMPATIENT = ["--timeout", "5"];
const GATE = "v1-S2.answers";

function say(status: number, type: string, body: string): Behaviour {
  return (request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": type }).end(body);
  };
}

const silence: Behaviour = () => undefined;

describe("a server that", () => {
  test.each<readonly [string, Behaviour, RegExp]>([
    ["talks HTML", say(200, "text/html", "<h1>Hello</h1>"), /200 text\/html <h1>/],
    ["fails in HTML", say(500, "text/html", "<h1>Oops</h1>"), /500 text\/html/],
    ["never answers", silence, /nothing, then nothing more/],
    [
      "disconnects immediately",
      (request) => request.socket.destroy(),
      /no response: socket hang up/,
    ],
    [
      "redirects elsewhere",
      (request, response) => {
        request.resume();
        response.writeHead(302, { location: "http://127.0.0.1:1/elsewhere" }).end();
      },
      /302 to http:\/\/127\.0\.0\.1:1\/elsewhere/,
    ],
    [
      "never stops sending",
      (request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": "application/json" });
        const piece = "x".repeat(64 * 1024);
        const more = (): void => void (response.writable && response.write(piece, () => more()));
        more();
      },
      /more than 1048576 bytes/,
    ],
    [
      "stops in the middle",
      (request, response) => {
        request.resume();
        response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
        response.write('{"jsonrpc"', () => request.socket.destroy());
      },
      /then the connection broke/,
    ],
  ])("%s gets a clear result, and nothing else is tried", async (_, behaviour, received) => {
    const url = await serveHostile(behaviour);

    const { report, code } = await check(url, ...(behaviour === silence ? IMPATIENT : PATIENT));

    for (const name of ["JSONRPC 1.0", "HTTP+JSON 1.0"]) {
      expect([name, resultOf(report, GATE, name).outcome]).toEqual([name, "failed"]);
      expect(resultOf(report, "v1-S19.get-unknown", name).outcome).toBe("skipped");
    }
    expect(resultOf(report, GATE, "JSONRPC 1.0").received).toMatch(received);
    expect(code).toBe(1);
  });

  test("answers nonsense to everything gets every request and fails every probe", async () => {
    const nonsense = [5, null, "text", [], {}, { task: 5 }, { task: { id: 7, status: [] } }];
    // At the same time, because some probes wait for what does not come.
    await Promise.all(nonsense.map(failsEveryProbe));

    async function failsEveryProbe(result: unknown): Promise<void> {
      const rpc = JSON.stringify({ jsonrpc: "2.0", id: "convoke-check", result });
      const url = await serveHostile((request, response) => {
        const isRpc = request.url === "/";
        say(200, "application/json", isRpc ? rpc : JSON.stringify(result))(request, response);
      });

      const { report, code } = await check(url, ...PATIENT, "--slow", "slow", "--ask", "ask");

      const answer = JSON.stringify(result);
      expect(code, answer).toBe(1);
      expect(stumbles(report), answer).toEqual([]);
      for (const name of ["JSONRPC 1.0", "HTTP+JSON 1.0"]) {
        expect(resultOf(report, "v1-S19.get-unknown", name).outcome, answer).toBe("failed");
      }
    }
  }, 120_000);

  test("keeps streaming after the end of its task is stopped", async () => {
    const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } };
    const event = { jsonrpc: "2.0", id: "convoke-check", result: { task } };
    let told = 0;
    const url = await serveHostile(
      (request, response) => {
        let body = "";
        request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
        request.on("end", () => {
          if (!body.includes("Stream")) return void response.end(JSON.stringify(event));
          response.writeHead(200, { "content-type": "text/event-stream" });
          const more = (): void => {
            if (!response.writable) return;
            told += 1;
            response.write(`data: ${JSON.stringify(event)}\n\n`, () => setImmediate(more));
          };
          more();
        });
      },
      ["JSONRPC"],
    );

    const { report } = await check(url, "--only", "v1-S14.ends", ...PATIENT);

    const { outcome, expected } = resultOf(report, "v1-S14.ends");
    expect(outcome).toBe("failed");
    expect(expected).toBe(
      "a stream that ends; this one was still open 20 events after the task had ended",
    );
    expect(told).toBeLessThan(5000);
  });
});

describe("a gRPC address that", () => {
  test("serves HTTP/1 gets a clear result", async () => {
    const url = await serveHostile(say(200, "text/plain", "hello"), ["GRPC"]);

    const { report } = await check(url, ...PATIENT);

    expect(resultOf(report, GATE)).toMatchObject({ outcome: "failed" });
    expect(resultOf(report, GATE).expected).toMatch(/gRPC|within/);
  });

  test.each([
    ["talks HTML", { ":status": 200, "content-type": "text/html" }, /HTTP 200 text\/html/],
    [
      "has no status",
      { ":status": 200, "content-type": "application/grpc" },
      /HTTP 200 application/,
    ],
  ])("%s gets a clear result", async (_, headers, received) => {
    const http2 = createHttp2Server();
    http2.on("stream", (stream) => {
      stream.respond(headers);
      stream.end("<h");
    });
    await new Promise<void>((resolve) => http2.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void http2.close());
    const { port } = http2.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    const url = await serveCard(JSON.stringify(cardAt(origin, ["GRPC"])));

    const { report } = await check(url, ...PATIENT, "--allow-origin", origin);

    const result = resultOf(report, GATE);
    expect(result.outcome).toBe("failed");
    expect(result.expected).toContain("gRPC");
    expect(result.received).toMatch(received);
  });
});

describe("if there is no card", () => {
  test.each([["no server listens", "http://127.0.0.1:1", "ECONNREFUSED"]])(
    "because %s, the agent could not be reached",
    async (_, url, why) => {
      const { code, stderr } = await runCli(["check", url, ...PATIENT]);

      expect(code).toBe(3);
      expect(stderr).toContain(why);
    },
  );

  test.each([
    [
      "HTML",
      say(200, "text/html", "<h1>Hello</h1>"),
      "answered 200 with something that is not a card",
    ],
    [
      "a list",
      say(200, "application/json", "[]"),
      "answered 200 with something that is not a card",
    ],
    ["nothing", say(404, "text/plain", "no"), "answered 404"],
    ["a lock", say(401, "text/plain", "no"), "or use --token, --api-key or --basic"],
    ["silence", silence, "no response within 5 s"],
    [
      "a way out",
      (_, response) => void response.writeHead(301, { location: "https://evil.test/card" }).end(),
      "redirects to https://evil.test/card; check that address instead",
    ],
  ] satisfies [string, Behaviour, string][])(
    "but %s, the report says so",
    async (_, behaviour, why) => {
      const { url, close } = await listenOn(behaviour);
      onTestFinished(close);

      const limit = behaviour === silence ? IMPATIENT : PATIENT;
      const { code, stderr } = await runCli(["check", url, ...limit]);

      expect(code).toBe(3);
      expect(stderr).toContain(why);
    },
  );

  test("but bytes that are not HTTP, the report says so", async () => {
    const server = createNetServer((socket) => void socket.end("\u0000\u0001garbage\r\n\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;

    const { code, stderr } = await runCli(["check", `http://127.0.0.1:${port}`, ...PATIENT]);

    expect(code).toBe(3);
    expect(stderr).toContain("Parse Error");
  });

  test("a card without interfaces fails", async () => {
    const url = await serveCard("{}");

    const { report, code } = await check(url, ...PATIENT);

    expect(resultOf(report, "v1-S2.declares").outcome).toBe("failed");
    expect(code).toBe(1);
  });
});

/** A server with a card and nothing else. */
async function serveCard(card: string): Promise<string> {
  const { url, close } = await listenOn((_, response) => void response.end(card));
  onTestFinished(close);
  return url;
}
