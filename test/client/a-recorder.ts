import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";
import { onTestFinished } from "vitest";

/** A foreign server that records every byte it receives. */
export interface Recorder {
  readonly port: number;
  /** Everything received, over all connections. */
  readonly heard: string;
}

/** Listens on all local addresses and answers every request with 404. */
export async function startRecorder(): Promise<Recorder> {
  const pieces: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (piece) => {
      pieces.push(piece);
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
  });
  server.listen(0);
  await once(server, "listening");
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    const closed = once(server, "close");
    server.close();
    await closed;
  });
  return {
    port: (server.address() as AddressInfo).port,
    get heard() {
      return Buffer.concat(pieces).toString("latin1");
    },
  };
}
