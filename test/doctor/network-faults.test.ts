import { once } from "node:events";
import { type Server, request } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, type Socket, createServer as createTcp } from "node:net";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createJsonLogger } from "@convoke/engine";
import { generateCardKey } from "@convoke/protocol";
import { serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { checkedAgent } from "../check/check-agent.ts";
import { listenOn } from "../check/peer-server.ts";
import { examine } from "./examine.ts";

// In its own worker: the certificates that Node trusts are those of the whole process.

async function listen(server: Pick<Server, "listen" | "close" | "address">): Promise<number> {
  const sockets = new Set<Socket>();
  (server as Server).on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server as Server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server below HTTP. */
function listenTcp(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createTcp((socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  return listen(server as unknown as Server);
}

function listenTls({ daysLeft = 1, card = "{}" } = {}): Promise<number> {
  const certificate = selfSigned(daysLeft);
  const server = createHttps(certificate, (_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(card);
  });
  if (daysLeft !== 1 || card !== "{}") trust(certificate.cert);
  return listen(server);
}

function trust(certificate: string): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, certificate]);
  onTestFinished(() => setDefaultCACertificates(before));
}

describe("an address without an agent", () => {
  test.each<[string, string, () => Promise<string>]>([
    ["a name that does not exist", "dns-no-address", async () => "http://no-agent.invalid"],
    ["a port without a server", "connection-refused", async () => "http://127.0.0.1:1"],
    [
      "a server that accepts and stays silent",
      "no-answer",
      async () => `http://127.0.0.1:${await listenTcp(() => undefined)}`,
    ],
    [
      "a server that closes every connection",
      "connection-reset",
      async () => `http://127.0.0.1:${await listenTcp((socket) => void socket.destroy())}`,
    ],
    [
      "a server of another protocol",
      "not-http",
      async () =>
        `http://127.0.0.1:${await listenTcp((socket) => void socket.end("220 smtp ready\r\n"))}`,
    ],
    [
      "https to a server without TLS",
      "https-for-http",
      async () => {
        const { url, close } = await listenOn((_, response) => void response.end());
        onTestFinished(close);
        return url.replace("http:", "https:");
      },
    ],
    [
      "http to a server with TLS",
      "http-for-https",
      async () => `http://127.0.0.1:${await listenTls()}`,
    ],
    [
      "a self-signed certificate",
      "tls-untrusted",
      async () => `https://localhost:${await listenTls()}`,
    ],
    [
      "an expired certificate",
      "tls-expired",
      async () => `https://localhost:${await listenTls({ daysLeft: -1 })}`,
    ],
    [
      "a certificate for another host",
      "tls-wrong-host",
      async () => `https://127.0.0.1:${await listenTls({ card: "[]" })}`,
    ],
  ])("%s: %s", async (_, id, start) => {
    const isSilent = id === "no-answer";
    const { verdict, ids, findings } = await examine(await start(), {
      ...(isSilent && { timeoutMs: 300 }),
    });

    expect(ids, JSON.stringify(findings)).toEqual([id]);
    expect(verdict).toBe("not-examined");
  });
});

test("a card over https that leads to http: card-http-interface", async () => {
  const card = {
    name: "Agent",
    description: "Behind a proxy.",
    version: "1",
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    supportedInterfaces: [
      { url: "http://localhost:1/", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
  };
  const port = await listenTls({ card: JSON.stringify(card) });

  const { ids, findings } = await examine(`https://localhost:${port}`);

  // That address is not called: nothing allows it.
  expect(ids, JSON.stringify(findings)).toEqual(["card-http-interface"]);
});

test("a card that was changed after it was signed: signature-invalid", async () => {
  const honest = await examine(await listenProxy({}));
  const changed = await examine(await listenProxy({ changesCard: true }));

  expect(honest.ids, JSON.stringify(honest.findings)).toEqual([]);
  expect(honest.findings.passed).toContain("The signature of the card is valid");
  expect(changed.ids, JSON.stringify(changed.findings)).toEqual(["signature-invalid"]);
});

interface ProxyFaults {
  /** Closes streams after this much silence. */
  readonly idleMs?: number;
  /** Closes connections when they are used again. */
  readonly dropsKept?: boolean;
  /** Changes a word of the card, and with that invalidates its signature. */
  readonly changesCard?: boolean;
}

/** A proxy in front of our server, whose card is signed. */
async function listenProxy(faults: ProxyFaults): Promise<string> {
  const { idleMs, dropsKept = false, changesCard = false } = faults;
  const { kid, privateKey } = await generateCardKey();
  let upstream = 0;
  const used = new WeakSet<Socket>();
  const proxy = await listenOn((incoming, outgoing) => {
    const { socket, method, url: path, headers } = incoming;
    if (dropsKept && used.has(socket)) return void socket.destroy();
    used.add(socket);
    const onward = request({ port: upstream, method, path, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 0, reply.headers);
      if (changesCard && path?.endsWith("agent-card.json")) {
        // The new word has the same length, so the headers stay true.
        void text(reply).then((card) => outgoing.end(card.replace("Answers", "Replies")));
        return;
      }
      reply.pipe(outgoing);
      const isStream = reply.headers["content-type"] === "text/event-stream";
      if (idleMs === undefined || !isStream) return;
      let timer = setTimeout(() => socket.destroy(), idleMs);
      reply.on("data", () => {
        clearTimeout(timer);
        timer = setTimeout(() => socket.destroy(), idleMs);
      });
      reply.on("close", () => clearTimeout(timer));
    });
    onward.on("error", () => undefined);
    incoming.pipe(onward);
  });
  const server = await serve(checkedAgent, {
    port: 0,
    data: "memory",
    logger: createJsonLogger("silent", () => undefined),
    publicUrl: proxy.url,
    allowedHosts: [new URL(proxy.url).host],
    card: {
      bindings: ["JSONRPC"],
      keys: [{ kid, alg: "ES256", privateKey, jku: `${proxy.url}.well-known/jwks.json` }],
    },
  });
  upstream = server.port;
  onTestFinished(async () => {
    await proxy.close();
    await server.close();
  });
  return proxy.url;
}

test("a proxy that closes silent streams: stream-cut", async () => {
  // The agent says something every 40 ms.
  const url = await listenProxy({ idleMs: 15 });

  const { ids, findings } = await examine(url, { text: "slow" });

  expect(ids, JSON.stringify(findings)).toEqual(["stream-cut"]);
});

test("a proxy that drops connections it promised to keep: keep-alive-reset", async () => {
  const { ids, findings } = await examine(await listenProxy({ dropsKept: true }));

  expect(ids, JSON.stringify(findings)).toEqual(["keep-alive-reset"]);
});
