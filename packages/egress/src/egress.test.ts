import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEgress } from "./create-egress.ts";
import { startServer, unusedPort } from "./connections/local-server.suite.ts";
import { publicAddress, specialAddress, toText } from "./policy/spellings.suite.ts";

const ask = { headers: { "content-type": "application/json" }, body: "{}", timeoutMs: 20_000 };

/** Returns each list in turn, and counts its calls. */
function dns(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve = (host: string) => {
    asked.push(host);
    return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] ?? []);
  };
  return { asked, resolve };
}

test("a request arrives under its own name at the address behind it", async () => {
  const server = await startServer((response) => {
    response.writeHead(202, { "X-Answer": "yes", "Set-Cookie": ["a=1", "b=2"] });
    response.end("thänks");
  });
  const egress = createEgress({ allow: ["127.0.0.1"], ...dns(["127.0.0.1"]) });

  const answer = await egress.post(`http://hooks.test:${server.port}/in?key=1#part`, {
    ...ask,
    headers: { "X-One": "1" },
    body: '{"ä":1}',
  });

  expect(answer).toMatchObject({
    status: 202,
    headers: { "x-answer": "yes", "set-cookie": "a=1, b=2" },
    body: "thänks",
  });
  expect(server.seen).toMatchObject([
    {
      method: "POST",
      path: "/in?key=1",
      headers: { host: `hooks.test:${server.port}`, "x-one": "1", "content-length": "8" },
      body: '{"ä":1}',
    },
  ]);
});

test("the system resolves names by default", async () => {
  const server = await startServer();
  const egress = createEgress({ allow: ["localhost"] });

  const answer = await egress.post(`http://localhost:${server.port}/`, ask);

  expect(answer.status).toBe(200);
});

test("sequential requests to an origin share a connection, which close() ends", async () => {
  const server = await startServer();
  const egress = createEgress({ allow: ["127.0.0.1"] });

  await egress.post(`http://127.0.0.1:${server.port}/one`, ask);
  await egress.post(`http://127.0.0.1:${server.port}/two`, ask);
  egress.close();

  expect(server.seen.map(({ path }) => path)).toEqual(["/one", "/two"]);
  expect(server.connections()).toBe(1);
  await Promise.all(server.seen.map(({ closed }) => closed));
});

describe("a name that resolves to a private address", () => {
  test("is rejected before anything is connected, and the error does not reveal the address", async () => {
    const server = await startServer();
    const egress = createEgress(dns(["127.0.0.1"]));

    const attempt = egress.post(`http://evil.test:${server.port}/?key=secret`, ask);

    await expect(attempt).rejects.toMatchObject({
      name: "EgressError",
      reason: "address",
      message: `"evil.test:${server.port}" resolves to an address that is not public; only the operator can permit it, with "evil.test:${server.port}" in the option allow`,
    });
    expect(server.connections()).toBe(0);
  });

  test("is rejected if any one of its addresses is private", async () => {
    const addresses = fc
      .tuple(fc.array(publicAddress, { maxLength: 3 }), specialAddress, fc.nat(3))
      .map(([good, bad, place]) => good.toSpliced(place, 0, bad).map(toText));
    await fc.assert(
      fc.asyncProperty(addresses, async (list) => {
        const egress = createEgress(dns(list));

        await expect(egress.post("http://evil.test/", ask)).rejects.toMatchObject({
          reason: "address",
        });
      }),
    );
  });

  test("is rejected if the result is not a plain address", async () => {
    for (const address of ["fe80::1%eth0", "2600::1%1", "::1", "localhost", "127.1", ""]) {
      const egress = createEgress(dns([address]));

      await expect(egress.post("http://evil.test/", ask), address).rejects.toMatchObject({
        reason: "address",
      });
    }
  });
});

describe("a name that changes between the check and the connection", () => {
  test("is reached at the checked address", async () => {
    const server = await startServer();
    const names = dns(["127.0.0.1"], ["192.0.2.1"]);
    const egress = createEgress({ allow: ["127.0.0.1"], resolve: names.resolve });

    const answer = await egress.post(`http://moving.test:${server.port}/`, ask);

    expect(answer.status).toBe(200);
    expect(names.asked).toEqual(["moving.test"]);
  });

  test("is never reached at the new address", async () => {
    const server = await startServer();
    // The listed address represents a public one; no server listens there.
    const names = dns(["127.0.0.2"], ["127.0.0.1"]);
    const egress = createEgress({ allow: ["127.0.0.2"], resolve: names.resolve });
    const url = `http://moving.test:${server.port}/`;

    const first = egress.post(url, ask);
    await expect(first).rejects.toMatchObject({
      reason: expect.stringMatching(/^(network|timeout)$/) as unknown,
    });
    await expect(egress.post(url, ask)).rejects.toMatchObject({ reason: "address" });

    expect(names.asked).toEqual(["moving.test", "moving.test"]);
    expect(server.connections()).toBe(0);
  });
});

test("if the first of several addresses does not respond, the next one is tried", async () => {
  const server = await startServer();
  const egress = createEgress({ allow: ["127.0.0.0/8"], ...dns(["127.0.0.2", "127.0.0.1"]) });

  const answer = await egress.post(`http://hooks.test:${server.port}/`, ask);

  expect(answer.status).toBe(200);
});

test("a redirect is a response and is not followed", async () => {
  const inside = await startServer();
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `http://127.0.0.1:${inside.port}/admin`;
    const server = await startServer((response) => {
      response.writeHead(status, { Location: location }).end();
    });
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const answer = await egress.post(`http://127.0.0.1:${server.port}/`, ask);

    expect(answer).toMatchObject({ status, headers: { location } });
  }
  expect(inside.connections()).toBe(0);
});

describe("the time limit applies", () => {
  const timeout = {
    reason: "timeout",
    message: expect.stringContaining("within 150 m") as unknown,
  };

  test("while the name is resolved", async () => {
    const egress = createEgress({ resolve: () => new Promise(() => {}) });

    const attempt = egress.post("http://slow.test/", { ...ask, timeoutMs: 150 });

    await expect(attempt).rejects.toMatchObject(timeout);
  });

  test("while there is no response, and the connection is closed", async () => {
    const server = await startServer(() => {});
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const attempt = egress.post(`http://127.0.0.1:${server.port}/`, { ...ask, timeoutMs: 150 });

    await expect(attempt).rejects.toMatchObject(timeout);
    await server.seen[0]?.closed;
  });

  test("while the body arrives slowly, and the connection is closed", async () => {
    const server = await startServer((response) => {
      const drip = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(drip));
    });
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const attempt = egress.post(`http://127.0.0.1:${server.port}/`, { ...ask, timeoutMs: 150 });

    await expect(attempt).rejects.toMatchObject(timeout);
    await server.seen[0]?.closed;
  });

  test("and a limit that no timer can measure is rejected", async () => {
    for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
      const attempt = createEgress().post("http://example.com/", { ...ask, timeoutMs });

      await expect(attempt).rejects.toThrow(`timeoutMs is ${timeoutMs}; give milliseconds from 1`);
    }
  });
});

describe("a caller that aborts", () => {
  test("gets its own reason, and the connection is closed", async () => {
    const controller = new AbortController();
    const server = await startServer(() => controller.abort(new Error("enough")));
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const attempt = egress.post(`http://127.0.0.1:${server.port}/`, {
      ...ask,
      signal: controller.signal,
    });

    await expect(attempt).rejects.toThrow("enough");
    await server.seen[0]?.closed;
  });

  test("before the start sends nothing, nor after the name was resolved too late", async () => {
    const server = await startServer();
    const controller = new AbortController();
    const egress = createEgress({
      allow: ["127.0.0.1"],
      resolve: () => {
        controller.abort(new Error("enough"));
        return Promise.resolve(["127.0.0.1"]);
      },
    });
    const url = `http://hooks.test:${server.port}/`;

    await expect(egress.post(url, { ...ask, signal: controller.signal })).rejects.toThrow("enough");
    await expect(egress.post(url, { ...ask, signal: controller.signal })).rejects.toThrow("enough");
    // If the first two had connected late, this one would not be the first.
    await egress.post(url, ask);

    expect(server.connections()).toBe(1);
  });
});

describe("a body", () => {
  test("that never ends is cut at 64 kB, between characters, and its connection is closed", async () => {
    const server = await startServer((response) => {
      const more = () => {
        while (response.writable && response.write("€".repeat(4096)));
      };
      response.on("drain", more);
      more();
    });
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const answer = await egress.post(`http://127.0.0.1:${server.port}/`, ask);

    expect(answer.status).toBe(200);
    expect(answer.body).toBe("€".repeat(Math.floor(65_536 / 3)));
    await server.seen[0]?.closed;
  });

  test("of 64 kB is complete", async () => {
    const server = await startServer((response) => response.end("x".repeat(65_536)));
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const answer = await egress.post(`http://127.0.0.1:${server.port}/`, ask);

    expect(answer.body).toHaveLength(65_536);
  });

  test("that breaks off is a network failure", async () => {
    const server = await startServer((response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write("half", () => response.destroy());
    });
    const egress = createEgress({ allow: ["127.0.0.1"] });

    const attempt = egress.post(`http://127.0.0.1:${server.port}/`, ask);

    await expect(attempt).rejects.toMatchObject({ reason: "network" });
  });
});

describe("a network failure names the host and no more of the URL", () => {
  test("when no server listens", async () => {
    const egress = createEgress({ allow: ["127.0.0.1"] });
    const port = await unusedPort();

    await expect(egress.post(`http://127.0.0.1:${port}/?key=secret`, ask)).rejects.toMatchObject({
      reason: "network",
      kind: "unreachable",
      sent: false,
      message: `could not reach http://127.0.0.1:${port}: nothing is listening there (ECONNREFUSED)`,
    });
  });

  test("when the name is unknown", async () => {
    await expect(
      createEgress().post("http://nobody.invalid/?key=secret", ask),
    ).rejects.toMatchObject({
      reason: "network",
      sent: false,
      message: expect.stringMatching(
        /^could not reach http:\/\/nobody\.invalid: its name .* \(E[A-Z_]+\)$/,
      ) as unknown,
    });
    await expect(createEgress(dns([])).post("http://empty.test/", ask)).rejects.toMatchObject({
      reason: "network",
      message: "could not reach http://empty.test: its name has no address",
    });
  });

  for (const [what, bytes, words] of [
    [
      "when the connection is closed without a response",
      "",
      "the connection was closed (ECONNRESET)",
    ],
    [
      "when the response is not HTTP",
      "SSH-2.0-OpenSSH_9.6\r\n",
      "what it sent is not HTTP (HPE_INVALID_CONSTANT)",
    ],
    [
      "when the other side switches protocols",
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      "the connection was closed (ECONNRESET)",
    ],
    [
      "when the headers are too large",
      `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
      "its headers are too large (HPE_HEADER_OVERFLOW)",
    ],
  ] as const) {
    test(what, async () => {
      const port = await startTcpServer(bytes);
      const egress = createEgress({ allow: ["127.0.0.1"] });

      const attempt = egress.post(`http://127.0.0.1:${port}/?key=secret`, ask);

      await expect(attempt).rejects.toMatchObject({
        reason: "network",
        kind: "unreachable",
        sent: true,
        message: `no response from http://127.0.0.1:${port}: ${words}`,
      });
    });
  }
});

test("TLS requests the certificate of the name, without its trailing dot", async () => {
  const asked: string[] = [];
  const server = createTlsServer({
    SNICallback: (name, done) => {
      asked.push(name);
      done(new Error("no certificate here"));
    },
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const egress = createEgress({ allow: ["127.0.0.1"], ...dns(["127.0.0.1"]) });

  const attempt = egress.post(`https://hooks.test.:${port}/`, ask);

  await expect(attempt).rejects.toMatchObject({ reason: "network" });
  expect(asked).toEqual(["hooks.test"]);
});

describe("headers", () => {
  for (const name of ["Host", "content-length", "Transfer-Encoding", "connection", "Expect"]) {
    test(`that belong to the connection cannot be set: ${name}`, async () => {
      const attempt = createEgress().post("http://example.com/", {
        ...ask,
        headers: { [name]: "1" },
      });

      await expect(attempt).rejects.toMatchObject({
        reason: "malformed",
        message: `the header "${name}" is set by the client; leave it out`,
      });
    });
  }

  test("that cannot be sent are named without their values", async () => {
    for (const [name, value] of [
      ["x-key", "secret\r\nHost: inside"],
      ["x-key", "secret\u20ac"],
      ["x key", "secret"],
      ["", "secret"],
    ] as const) {
      const attempt = createEgress().post("http://example.com/", {
        ...ask,
        headers: { [name]: value },
      });

      await expect(attempt).rejects.toMatchObject({
        reason: "malformed",
        message: `the header "${name}" cannot be sent; its name must be a token and its value visible ASCII`,
      });
    }
  });
});

/** Answers every connection with the same bytes and closes it. */
async function startTcpServer(bytes: string): Promise<number> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(bytes));
  });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test("https to an http server says what to try", async () => {
  const server = await startServer();
  const url = server.url.replace("http:", "https:");

  const attempt = createEgress({ trusted: [url] }).request({ url });

  await expect(attempt).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining("it does not speak TLS; try http:// instead of https://"),
  });
});
