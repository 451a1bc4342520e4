import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A request as the server received it. */
export interface SeenRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<unknown>;
}

export interface LocalServer {
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  readonly url: string;
  /** The number of opened connections, with requests or not. */
  connections(): number;
  /** The number of open ones. */
  open(): number;
}

/** A real server, on loopback by default, that closes with the test. */
export async function startServer(
  answer: (response: ServerResponse, request: SeenRequest) => void = (response) => response.end(),
  { host = "127.0.0.1", port: wanted = 0 }: { readonly host?: string; readonly port?: number } = {},
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
  let open = 0;
  server.on("connection", (socket) => {
    connections += 1;
    open += 1;
    // Each request over it waits for its end.
    socket.setMaxListeners(0);
    socket.on("close", () => (open -= 1));
  });
  onTestFinished(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  server.listen(wanted, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://${host}:${port}`;
  return { port, url, seen, connections: () => connections, open: () => open };
}

/** An address where no server listens. */
export async function unusedPort(): Promise<number> {
  const server = createNetServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
