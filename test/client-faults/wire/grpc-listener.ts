import { type IncomingHttpHeaders, createServer } from "node:http2";
import type { GrpcMove } from "./grpc-move.ts";
import { Listener } from "./listener.ts";
import { playGrpc } from "./play-grpc.ts";

/** Accepts HTTP/2 calls without TLS, and answers them move by move. */
export function createGrpcListener(
  answer: (headers: IncomingHttpHeaders) => readonly GrpcMove[],
): Listener {
  const server = createServer();
  server.on("sessionError", () => undefined);
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    stream.resume();
    void playGrpc(stream, answer(headers)).catch(() => undefined);
  });
  return new Listener(server);
}
