import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import type { Directory } from "../harness/caller.ts";

/** A fixed address in front of servers: each connection goes to any of them. */
export class LoadBalancer {
  /** The servers. Connections wait until they are known. */
  readonly servers = Promise.withResolvers<Directory>();
  readonly #server = createServer({ pauseOnConnect: true }, (near) => {
    this.#carry(near).catch(() => near.destroy());
  });
  readonly #sockets = new Set<Socket>();

  /** Resolves to the address. */
  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #carry(near: Socket): Promise<void> {
    near.on("error", () => undefined);
    const { port, hostname } = new URL(await (await this.servers.promise).url());
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
