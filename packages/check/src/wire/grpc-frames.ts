import type { ClientHttp2Stream } from "node:http2";
import { Failed } from "../verdict.ts";
import { MAX_BYTES } from "./limits.ts";

const PREFIX = 5;

/** A message with the flag and the length before it. */
export function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The messages of an answer, as they come. */
export async function* framesOf(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array, void> {
  let rest: Buffer = Buffer.alloc(0);
  let length = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > MAX_BYTES) throw new Failed(`an answer of at most ${MAX_BYTES} bytes`);
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= PREFIX && rest.length >= PREFIX + rest.readUInt32BE(1)) {
      const end = PREFIX + rest.readUInt32BE(1);
      if (rest.readUInt8(0) !== 0) throw new Failed("a message that is not compressed");
      yield rest.subarray(PREFIX, end);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) throw new Failed("messages of gRPC, each with its length before it");
}
