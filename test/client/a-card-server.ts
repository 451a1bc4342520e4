import { once } from "node:events";
import { type IncomingHttpHeaders, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A request for a card as the server received it. */
interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface CardServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** What the next responses have. */
  headers: Readonly<Record<string, string>>;
  card: object;
}

/** Serves a card with the headers of the test, and supports conditional requests. */
export async function startCardServer(
  headers: Readonly<Record<string, string>>,
): Promise<CardServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", headers: request.headers });
    if (request.url !== "/.well-known/agent-card.json") {
      response.writeHead(404).end();
      return;
    }
    const { etag, "last-modified": date } = shown.headers;
    const isKnown =
      (etag !== undefined && request.headers["if-none-match"] === etag) ||
      (date !== undefined && request.headers["if-modified-since"] === date);
    // Slowly, so that concurrent requests overlap.
    setTimeout(() => {
      response.writeHead(isKnown ? 304 : 200, shown.headers);
      response.end(isKnown ? undefined : JSON.stringify(shown.card));
    }, 20);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const shown: CardServer = {
    url,
    asked,
    headers,
    card: {
      name: "First",
      supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    },
  };
  return shown;
}
