import type { FaultCall, FaultReply, FaultScenario } from "../fault-scenario.ts";
import { LAST_CHUNK, chunk, head, plainly, whole } from "../replies/http.ts";
import { CLOSE, type Move, bytes, flow } from "../wire/move.ts";
import { HTTP } from "./speakings.ts";

/** The text that the real agent repeats; it has a character of each length in UTF-8. */
export const REPEATED = Array.from({ length: 25 }, (_, place) => `${place} aä€🦉 `).join("");

const REPEATS = { text: REPEATED, state: "completed" } as const;

/** The response of the real agent with a modified stream. */
function changed(
  change: (pieces: AsyncIterable<Uint8Array>, call: FaultCall) => AsyncIterable<Uint8Array>,
  ending: readonly Move[] = [bytes(LAST_CHUNK)],
): FaultReply {
  return async (call) => {
    const response = await call.behind();
    const { status, body } = response;
    const { "content-length": _, ...headers } = Object.fromEntries(response.headers);
    const isStream = headers["content-type"]?.includes("event-stream") === true && body !== null;
    if (!isStream) {
      const content = new Uint8Array(await response.arrayBuffer());
      return whole(content, { status, type: headers["content-type"] ?? "", headers: {} });
    }
    const pieces = chunked(change(body, call));
    return [
      bytes(head(status, { ...headers, "Transfer-Encoding": "chunked" })),
      flow(pieces),
      ...ending,
    ];
  };
}

async function* chunked(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) if (piece.length > 0) yield chunk(piece);
}

/** Only the first `most` bytes. */
async function* upTo(pieces: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let left = most;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) return;
  }
}

/** Every frame twice. */
async function* doubled(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const piece of pieces) {
    rest = Buffer.concat([rest, piece]);
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const one = rest.subarray(0, end + 2);
      yield Buffer.concat([one, one]);
      rest = rest.subarray(end + 2);
    }
  }
  yield rest;
}

async function* byteByByte(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) for (const byte of piece) yield Buffer.of(byte);
}

const untouched = changed((pieces) => pieces);

/** Every stream ends after a number of bytes that grows a little each time. */
const cutAfter = (most: number): FaultReply =>
  changed((pieces, { count }) => upTo(pieces, most + 7 * count), [CLOSE]);

const everySecondTime: FaultReply = (call) =>
  call.count % 2 === 1
    ? plainly("away", { status: 503, type: "text/plain" })(call)
    : untouched(call);

/** A real agent behind a network with these faults. */
export const BEHIND: readonly FaultScenario[] = [
  {
    id: "agent-untouched",
    sentence: "The real agent without any fault.",
    speaks: HTTP,
    asks: "stream",
    needsAgent: true,
    replies: allBy(untouched),
    right: REPEATS,
  },
  {
    id: "agent-cut-every-few-frames",
    sentence: "Every stream of the real agent ends after about a kilobyte.",
    speaks: HTTP,
    asks: "stream",
    needsAgent: true,
    replies: { ...allBy(untouched), ...streamsBy(cutAfter(1201)) },
    right: REPEATS,
  },
  {
    id: "agent-cut-once-anywhere",
    sentence: "The first stream of the real agent ends at some byte, the following streams do not.",
    speaks: HTTP,
    asks: "stream",
    needsAgent: true,
    replies: { ...allBy(untouched), sendStreamingMessage: [cutAfter(1907), untouched] },
    right: REPEATS,
  },
  {
    id: "agent-twice",
    sentence: "Every frame of the real agent is sent twice.",
    speaks: HTTP,
    asks: "stream",
    needsAgent: true,
    replies: { ...allBy(untouched), ...streamsBy(changed(doubled)) },
    right: REPEATS,
    beyond: "A2A has no ids for events, so a client may deliver all of them",
  },
  {
    id: "agent-byte-by-byte",
    sentence: "Every byte of the real agent is sent separately.",
    speaks: HTTP,
    asks: "stream",
    needsAgent: true,
    replies: { ...allBy(untouched), ...streamsBy(changed(byteByByte)) },
    right: REPEATS,
  },
  {
    id: "agent-away-every-second-time",
    sentence:
      "Streams of the real agent end after about a kilobyte, and every second request " +
      "gets 503.",
    speaks: HTTP,
    asks: "stream",
    needsAgent: true,
    replies: {
      ...allBy(untouched),
      sendStreamingMessage: [(call) => (call.count === 1 ? away(call) : cutAfter(1201)(call))],
      subscribeToTask: [(call) => (call.count % 2 === 1 ? away(call) : cutAfter(1201)(call))],
      getTask: [everySecondTime],
    },
    right: REPEATS,
  },
];

function away(call: FaultCall) {
  return plainly("away", { status: 503, type: "text/plain" })(call);
}

function allBy(reply: FaultReply) {
  return {
    card: [reply],
    sendMessage: [reply],
    sendStreamingMessage: [reply],
    subscribeToTask: [reply],
    getTask: [reply],
    cancelTask: [reply],
  } as const;
}

function streamsBy(reply: FaultReply) {
  return { sendStreamingMessage: [reply], subscribeToTask: [reply] } as const;
}
