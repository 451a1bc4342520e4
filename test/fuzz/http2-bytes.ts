import { type Random, below, noise, pick, shuffled, spoiltBytes, times } from "./dice.ts";
import {
  FLAG,
  FRAME,
  type Frame,
  PREFACE,
  encodeFrame,
  encodeHeaders,
  uint32,
} from "./http2-frames.ts";
import { BODIES, PATHS } from "./port-requests.ts";

/** What a client sends on one HTTP/2 connection: mostly valid frames, often in an invalid order. */
export function http2Bytes(random: Random): Buffer {
  const made = times(1 + below(8, random), () => pick(SCENES, random)(random)).flat();
  const frames = random() < 0.15 ? shuffled(made, random) : made;
  const preface = random() < 0.97 ? PREFACE : spoiltBytes(PREFACE, random);
  const settings = random() < 0.9 ? [encodeFrame({ type: FRAME.settings })] : [];
  return Buffer.concat([
    preface,
    ...settings,
    ...frames.map((frame) => encodeSpoilt(frame, random)),
  ]);
}

/** One frame of eight is malformed: its length, type, flags, stream or any of its bytes. */
function encodeSpoilt(frame: Frame, random: Random): Buffer {
  if (random() < 0.875) return encodeFrame(frame);
  const bytes = encodeFrame(frame);
  switch (below(5, random)) {
    case 0:
      bytes.writeUIntBE(pick([0, 1, bytes.length, 16_384, 16_385, 0xffffff], random), 0, 3);
      return bytes;
    case 1:
      bytes[3] = pick([...times(10, (type) => type), 10, 12, 255], random);
      return bytes;
    case 2:
      bytes[4] = below(256, random);
      return bytes;
    case 3:
      bytes.writeUInt32BE(pick(STREAM_IDS, random), 5);
      return bytes;
    default:
      return spoiltBytes(bytes, random);
  }
}

/** Few ids, so that frames often share a stream; even ones and 0 are wrong for requests. */
const STREAM_IDS = [1, 1, 1, 3, 3, 5, 7, 0, 2, 2 ** 31 - 1, 2 ** 32 - 1];

type Scene = (random: Random) => readonly Frame[];

const request: Scene = (random) => {
  const streamId = pick(STREAM_IDS, random);
  const hasBody = random() < 0.6;
  const headers = headersFrames(streamId, hasBody ? 0 : FLAG.endStream, random);
  return hasBody ? [...headers, ...dataFrames(streamId, random)] : headers;
};

const reset: Scene = (random) => [
  {
    type: FRAME.rstStream,
    streamId: pick(STREAM_IDS, random),
    payload: uint32(pick([0, 1, 2, 5, 7, 8, 11, 2 ** 32 - 1], random)),
  },
];

const ping: Scene = (random) => [
  { type: FRAME.ping, flags: pick([0, 0, FLAG.ack], random), payload: noise(8, random) },
];

const settings: Scene = (random) => [
  random() < 0.2
    ? { type: FRAME.settings, flags: FLAG.ack }
    : {
        type: FRAME.settings,
        payload: Buffer.concat(times(below(5, random), () => oneSetting(random))),
      },
];

/** A requested event stream whose client disconnects in each of the ways that HTTP/2 has. */
const farewell: Scene = (random) => [
  ...request(random),
  {
    type: FRAME.goaway,
    payload: Buffer.concat([
      uint32(pick([0, 1, 2 ** 31 - 1], random)),
      uint32(pick([0, 0, 0, 1, 2, 11], random)),
      noise(below(20, random), random),
    ]),
  },
];

const windowUpdate: Scene = (random) => [
  {
    type: FRAME.windowUpdate,
    streamId: pick(STREAM_IDS, random),
    payload: uint32(pick([0, 1, 1000, 2 ** 31 - 1, 2 ** 32 - 1], random)),
  },
];

const priority: Scene = (random) => [
  {
    type: FRAME.priority,
    streamId: pick(STREAM_IDS, random),
    payload: Buffer.concat([uint32(pick(STREAM_IDS, random)), noise(1, random)]),
  },
];

/** Frames that no client may send, or that do not fit the preceding ones. */
const misplaced: Scene = (random) => [
  {
    type: pick([FRAME.continuation, FRAME.pushPromise, FRAME.data, 10, 200], random),
    flags: below(256, random),
    streamId: pick(STREAM_IDS, random),
    payload: noise(below(40, random), random),
  },
];

/**
 * The same frames many times: rapid resets, floods of pings and settings, endless continuations.
 */
const flood: Scene = (random) => {
  const base = pick([ping, settings, windowUpdate, priority], random)(random);
  if (random() < 0.5) return times(60, () => base).flat();
  return times(60, (index) => {
    const streamId = 2 * index + 1;
    const [head] = headersFrames(streamId, FLAG.endStream, random);
    return [head!, { type: FRAME.rstStream, streamId, payload: uint32(8) }];
  }).flat();
};

const SCENES: readonly Scene[] = [
  ...times(10, () => request),
  ...times(5, () => reset),
  ...times(3, () => ping),
  ...times(3, () => settings),
  ...times(2, () => farewell),
  ...times(3, () => windowUpdate),
  ...times(2, () => priority),
  ...times(2, () => misplaced),
  flood,
];

function oneSetting(random: Random): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(pick([1, 2, 3, 4, 5, 6, 8, 9, 0xffff], random));
  bytes.writeUInt32BE(pick([0, 1, 100, 16_384, 2 ** 24 - 1, 2 ** 31 - 1, 2 ** 31], random), 2);
  return bytes;
}

/** A header block in one frame, or split into continuations of which the last may be missing. */
function headersFrames(streamId: number, flags: number, random: Random): readonly Frame[] {
  const block = encodeHeaders(someHeaders(random));
  if (random() < 0.8) {
    return [{ type: FRAME.headers, flags: flags | FLAG.endHeaders, streamId, payload: block }];
  }
  const cut = below(block.length, random);
  const isEnded = random() < 0.8;
  return [
    { type: FRAME.headers, flags, streamId, payload: block.subarray(0, cut) },
    {
      type: FRAME.continuation,
      flags: isEnded ? FLAG.endHeaders : 0,
      streamId,
      payload: block.subarray(cut),
    },
  ];
}

function someHeaders(random: Random): Record<string, string> {
  const headers: Record<string, string> = {
    ":method": pick(["POST", "POST", "POST", "GET", "GET", "HEAD", "OPTIONS", "CONNECT"], random),
    ":scheme": pick(["http", "http", "http", "https", "x"], random),
    ":path": pick(PATHS, random),
    ":authority": pick(["localhost", "localhost", "localhost", "evil.example", ""], random),
    "content-type": pick(["application/json", "application/grpc"], random),
    ...Object.assign({}, ...times(below(3, random), () => pick(ODD_HEADERS, random))),
  };
  if (random() < 0.05) delete headers[pick(Object.keys(headers), random)];
  return headers;
}

const ODD_HEADERS: readonly Readonly<Record<string, string>>[] = [
  { expect: "100-continue" },
  { expect: "100-continue", "content-length": "5" },
  { expect: "200-ok" },
  { te: "trailers" },
  { te: "gzip" },
  { connection: "keep-alive" },
  { "transfer-encoding": "chunked" },
  { "content-length": "0" },
  { "content-length": "-1" },
  { "content-length": "99999999999" },
  { accept: "text/event-stream" },
  { "Upper-Case": "x" },
  { "bad name": "x" },
  { "x-null": "a\u0000b" },
  { ":protocol": "websocket" },
  { ":status": "200" },
  { ":unknown": "x" },
  { host: "evil.example" },
  { "grpc-timeout": "1n" },
  { "last-event-id": "-1" },
  { "x-long": "x".repeat(9000) },
  { cookie: "a=b" },
];

/** A body in up to three frames; one of three has no end, or has trailers. */
function dataFrames(streamId: number, random: Random): readonly Frame[] {
  const body = pick(BODIES, random).subarray(0, 16_000);
  const cut = below(body.length + 1, random);
  const isEnded = random() < 0.7;
  const frames: Frame[] = [
    { type: FRAME.data, streamId, payload: body.subarray(0, cut) },
    {
      type: FRAME.data,
      flags: isEnded ? FLAG.endStream : 0,
      streamId,
      payload: body.subarray(cut),
    },
  ];
  if (random() < 0.1) frames.push(...padded(streamId, random));
  if (random() < 0.1) frames.push(...headersFrames(streamId, FLAG.endStream, random));
  return frames;
}

function padded(streamId: number, random: Random): readonly Frame[] {
  const payload = Buffer.concat([Buffer.from([below(40, random)]), noise(20, random)]);
  return [{ type: FRAME.data, flags: FLAG.padded, streamId, payload }];
}
