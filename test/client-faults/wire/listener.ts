import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";

/** A server on a local port that keeps track of open connections. */
export class Listener {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this.port;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
