import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<unknown>;
}

export interface LocalServer {
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** How many connections were opened, requests or not. */
  connections(): number;
}

/** A real server on loopback that closes with the test. */
export async function startServer(
  answer: (response: ServerResponse, request: SeenRequest) => void = (response) => response.end(),
): Promise<LocalServer> {
  const seen: SeenRequest[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const closed = new Promise((resolve) => request.socket.on("close", resolve));
    void text(request).then((body) => {
      const { method, url: path, headers } = request;
      const entry: SeenRequest = { method, path, headers, body, closed };
      seen.push(entry);
      answer(response, entry);
    });
  });
  server.on("connection", () => (connections += 1));
  onTestFinished(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, seen, connections: () => connections };
}
