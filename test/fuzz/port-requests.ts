import { JSONRPC, REST, grpcTargets } from "./targets.ts";

/** Where the port fuzzers send their requests. */
export const PATHS: readonly string[] = [
  "/.well-known/agent-card.json",
  "/",
  "/",
  ...REST.map(({ path }) => path),
  ...grpcTargets().map(({ path }) => path),
  "/%ff",
  "//",
  "/../x",
  "*",
];

/** What they send there, mixed at random. */
export const BODIES: readonly Buffer[] = [
  ...[...JSONRPC, ...REST].flatMap(({ body }) =>
    body === undefined ? [] : [Buffer.from(JSON.stringify(body))],
  ),
  ...grpcTargets().map(({ bytes }) => framed(bytes)),
  Buffer.alloc(0),
  Buffer.from("{"),
  Buffer.alloc(40_000, " "),
];

/** A gRPC message frame: not compressed, with its length prefix. */
export function framed(bytes: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + bytes.length);
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, 5);
  return frame;
}
