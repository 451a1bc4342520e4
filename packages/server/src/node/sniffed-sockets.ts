import type { Socket } from "node:net";

/** How an HTTP/2 connection begins when nothing was agreed on before (RFC 9113 §3.4). No method of HTTP/1 does. */
const PREFACE = "PRI";

const NOTHING = Buffer.alloc(0);

/** How long a connection may stay without a word. */
const PATIENCE_MS = 60_000;

/** Connections whose first bytes have not come yet. */
export class SniffedSockets {
  readonly #waiting = new Set<Socket>();
  readonly #adopt: (socket: Socket, isHttp2: boolean) => void;

  constructor(adopt: (socket: Socket, isHttp2: boolean) => void) {
    this.#adopt = adopt;
  }

  add(socket: Socket): void {
    this.#waiting.add(socket);
    const leave = (): void => {
      this.#waiting.delete(socket);
      socket.off("readable", look);
      socket.off("error", leave);
      socket.off("close", leave);
      socket.off("end", hangUp);
      socket.off("timeout", hangUp);
      socket.setTimeout(0);
    };
    const hangUp = (): void => void socket.destroy();
    let bytes: Buffer = Buffer.alloc(0);
    const look = (): void => {
      bytes = Buffer.concat([bytes, (socket.read() as Buffer | null) ?? NOTHING]);
      const beginning = bytes.toString("latin1", 0, PREFACE.length);
      if (beginning.length < PREFACE.length && PREFACE.startsWith(beginning)) return;
      leave();
      // Put back once it is decided, and not before: each time it would be readable again at once.
      socket.unshift(bytes);
      this.#adopt(socket, beginning === PREFACE);
    };
    socket.setTimeout(PATIENCE_MS);
    socket.on("readable", look);
    socket.on("error", leave);
    socket.on("close", leave);
    socket.on("end", hangUp);
    socket.on("timeout", hangUp);
  }

  close(): void {
    for (const socket of this.#waiting) socket.destroy();
  }
}
