import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";

/**
 * Returns after how many bytes of the response a new connection is cut; `undefined` keeps it alive.
 */
export type Cut = () => number | undefined;

/**
 * A TCP proxy that cuts connections at any byte: before the head, within a frame, within a
 * character. It does not interpret the data.
 */
export class CuttingProxy {
  /** The target address; can change, as when a server restarts elsewhere. */
  target: URL | undefined;
  /** The number of connections it has cut. */
  cuts = 0;
  #cut: Cut = () => undefined;
  readonly #server = createServer((socket) => this.#carry(socket));
  readonly #sockets = new Set<Socket>();

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Sets how new connections are cut; open ones are closed first. */
  cutBy(cut: Cut): void {
    this.#cut = cut;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #carry(near: Socket): void {
    const { target } = this;
    if (target === undefined) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    let left = this.#cut();
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (bytes) => {
      if (left === undefined || bytes.length < left) {
        if (left !== undefined) left -= bytes.length;
        if (!near.write(bytes)) {
          far.pause();
          near.once("drain", () => far.resume());
        }
        return;
      }
      this.cuts++;
      // Data sent before the cut arrives, as when a proxy ends in the middle.
      near.end(bytes.subarray(0, left));
      far.destroy();
      left = 0;
    });
  }
}
