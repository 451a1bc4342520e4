import type { ServerHttp2Stream } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import type { GrpcMove } from "./grpc-move.ts";

/** Plays one move after the other until the client has ended the call. */
export async function playGrpc(
  stream: ServerHttp2Stream,
  moves: readonly GrpcMove[],
): Promise<void> {
  for (const move of moves) {
    if (stream.destroyed) return;
    switch (move.kind) {
      case "head":
        stream.respond(
          { ...move.headers },
          { endStream: move.isAll === true, ...trailersOf(move) },
        );
        break;
      case "bytes":
        stream.write(move.bytes);
        break;
      case "trailers":
        stream.once("wantTrailers", () => stream.sendTrailers({ ...move.trailers }));
        stream.end();
        break;
      case "end":
        stream.once("wantTrailers", () => stream.sendTrailers({}));
        stream.end();
        break;
      case "rst":
        stream.close(move.code);
        break;
      case "goaway":
        stream.session?.goaway();
        break;
      case "close":
        stream.session?.socket.destroy();
        break;
      case "wait":
        await sleep(move.ms);
        break;
      case "hang":
        break;
    }
  }
}

/** Node asks for the trailers when the body has ended, unless there is no body. */
function trailersOf({ isAll }: { readonly isAll?: boolean }): { readonly waitForTrailers?: true } {
  return isAll === true ? {} : { waitForTrailers: true };
}
