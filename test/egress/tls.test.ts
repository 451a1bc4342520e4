import { once } from "node:events";
import { createServer as createHttp1 } from "node:https";
import { createSecureServer } from "node:http2";
import { type AddressInfo, type Server, createServer as createTcp } from "node:net";
import { text } from "node:stream/consumers";
import { createServer as createTls, getCACertificates, setDefaultCACertificates } from "node:tls";
import { createEgress } from "@convoke/egress";
import { readText } from "@convoke/egress/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";

const certificate = selfSigned();

/** Names resolve to this machine, where the tests' servers are. */
const local = { allow: ["127.0.0.1"], resolve: () => Promise.resolve(["127.0.0.1"]) };

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function trustTheCertificate(): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate.cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

test("one connection serves several requests, under the name of the certificate", async () => {
  trustTheCertificate();
  let connections = 0;
  const server = createHttp1(certificate, (request, response) => response.end(request.url));
  server.on("secureConnection", () => (connections += 1));
  const port = await listen(server);
  const url = `https://localhost:${port}`;
  const egress = createEgress({ trusted: [url], resolve: local.resolve });
  onTestFinished(() => egress.close());

  const answers = [];
  for (const path of ["/one", "/two"]) {
    answers.push(await readText(await egress.request({ url: `${url}${path}` }), undefined));
  }

  expect(answers).toEqual(["/one", "/two"]);
  expect(connections).toBe(1);
});

test("HTTP/2 is negotiated by ALPN", async () => {
  trustTheCertificate();
  const server = createSecureServer(certificate, (request, response) => {
    response.end(`${request.httpVersion} ${request.authority}`);
  });
  const port = await listen(server);
  const url = `https://localhost:${port}`;
  const egress = createEgress({ trusted: [url], resolve: local.resolve });

  const session = await egress.openHttp2(url);

  expect(await text(session.request({ ":path": "/" }))).toBe(`2.0 localhost:${port}`);
  egress.close();
});

describe("TLS errors have a clear text, and nothing was sent", () => {
  async function problemOf(port: number, host: string, timeoutMs = 20_000): Promise<string[]> {
    const url = `https://${host}:${port}`;
    const egress = createEgress({ ...local, connectTimeoutMs: timeoutMs });
    const attempts = await Promise.allSettled([
      egress.request({ url, body: "{}" }),
      egress.openHttp2(url),
    ]);
    return attempts.map((attempt) => {
      expect(attempt).toMatchObject({
        status: "rejected",
        reason: { name: "EgressError", kind: "unreachable", sent: false },
      });
      const { message } = (attempt as PromiseRejectedResult).reason as Error;
      return message.replace(`could not reach ${url}: `, "");
    });
  }

  test("if the certificate is not trusted", async () => {
    const port = await listen(createSecureServer({ ...certificate, allowHTTP1: true }));

    expect(await problemOf(port, "localhost.example")).toEqual(
      Array(2).fill("its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)"),
    );
  });

  test("if the certificate is for another name", async () => {
    trustTheCertificate();
    const port = await listen(createSecureServer({ ...certificate, allowHTTP1: true }));

    expect(await problemOf(port, "other.example")).toEqual(
      Array(2).fill("its certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID)"),
    );
  });

  test("if there is no TLS", async () => {
    const port = await listen(
      createTcp((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
      }),
    );

    for (const problem of await problemOf(port, "plain.example")) {
      expect(problem).toMatch(
        /^it does not speak TLS; try http:\/\/ instead of https:\/\/ \((EPROTO|ERR_SSL_\w+)\)$/,
      );
    }
  });

  test("if the handshake never ends", async () => {
    const port = await listen(createTcp((socket) => socket.on("error", () => {})));

    expect(await problemOf(port, "slow.example", 100)).toEqual(
      Array(2).fill("no connection within 100 milliseconds"),
    );
  });

  test("if HTTP/2 is not offered", async () => {
    trustTheCertificate();
    // One of them offers another protocol, the other offers none.
    for (const server of [createHttp1(certificate), createTls(certificate)]) {
      const url = `https://localhost:${await listen(server)}`;
      const egress = createEgress({ trusted: [url], resolve: local.resolve });

      await expect(egress.openHttp2(url)).rejects.toMatchObject({
        kind: "unreachable",
        sent: false,
        message: expect.stringContaining(`${url}: it does not speak HTTP/2 (`) as unknown,
      });
    }
  });
});
