import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Move } from "./move.ts";

/** Plays one move after the other until the client has closed the connection. */
export async function play(socket: Socket, moves: readonly Move[]): Promise<void> {
  for (const move of moves) {
    if (socket.destroyed) return;
    switch (move.kind) {
      case "bytes":
        await write(socket, move.bytes);
        break;
      case "flow":
        for await (const piece of move.pieces) {
          if (socket.destroyed) return;
          await write(socket, piece);
        }
        break;
      case "wait":
        await sleep(move.ms);
        break;
      case "half-close":
        socket.end();
        break;
      case "close":
        socket.destroySoon();
        break;
      case "reset":
        socket.resetAndDestroy();
        break;
      case "hang":
        break;
    }
  }
}

/** Waits while the client reads more slowly than we write. */
function write(socket: Socket, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const goOn = () => {
      socket.off("drain", goOn).off("close", goOn);
      resolve();
    };
    if (socket.write(bytes)) resolve();
    else socket.on("drain", goOn).on("close", goOn);
  });
}
