/** How every HTTP/2 connection starts (RFC 9113 §3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Frame types (RFC 9113 §6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export interface Frame {
  readonly type: number;
  readonly flags?: number;
  readonly streamId?: number;
  readonly payload?: Uint8Array;
}

export function encodeFrame({ type, flags = 0, streamId = 0, payload = EMPTY }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/**
 * A header block of literals without indexing (RFC 7541 §6.2.2), so that writing it needs no state.
 */
export function encodeHeaders(headers: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      Buffer.from([0]),
      encodeString(name),
      encodeString(value),
    ]),
  );
}

function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([encodeLength(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits (RFC 7541 §5.1). */
function encodeLength(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

const EMPTY = new Uint8Array();
