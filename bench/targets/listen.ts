import { type IncomingMessage, type RequestListener, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { report } from "./control.ts";

export const SSE_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** Listens on a free local port, and reports it. */
export function listen(listener: RequestListener): void {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1", () =>
    report(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
  );
}

/** Passes on the complete body, parsed. */
export function readJson(request: IncomingMessage, use: (body: unknown) => void): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => use(JSON.parse(Buffer.concat(pieces).toString())));
}
