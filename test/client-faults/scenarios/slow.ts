import { setTimeout as sleep } from "node:timers/promises";
import type { FaultReply, FaultScenario } from "../fault-scenario.ts";
import { showsCard } from "../replies/cards.ts";
import { LAST_CHUNK, STREAM_HEAD, chunk, head } from "../replies/http.ts";
import { honestReply } from "../replies/honest.ts";
import { frames, streams } from "../replies/streams.ts";
import { GREETED, STORY } from "../replies/words.ts";
import { HANG, type Move, bytes, flow, wait } from "../wire/move.ts";
import { HTTP, V03_REST, V1_RPC } from "./speakings.ts";

const KEEP_ALIVE = bytes(chunk(": still here\n\n"));

const silently: FaultReply = () => [HANG];

/** Sends bytes one by one while the client is connected. */
async function* drip(text: string, everyMs: number): AsyncGenerator<Uint8Array> {
  for (const letter of text) {
    yield Buffer.from(letter);
    await sleep(everyMs);
  }
}

function withKeepAlives(count: number, everyMs: number): readonly Move[] {
  return Array.from({ length: count }, () => [wait(everyMs), KEEP_ALIVE]).flat();
}

/** Agents that are slow or go silent. */
export const SLOW: readonly FaultScenario[] = [
  {
    id: "no-answer",
    sentence: "The agent accepts a call and never responds.",
    speaks: HTTP,
    asks: "get",
    settings: { timeoutMs: 400 },
    replies: { getTask: [silently] },
    right: { error: "unreachable", says: /did not answer within 400 ms/ },
  },
  {
    id: "a-head-drop-by-drop",
    sentence: "The head of a response is sent byte by byte and never ends.",
    speaks: HTTP,
    asks: "get",
    settings: { timeoutMs: 400 },
    replies: {
      getTask: [() => [flow(drip(`HTTP/1.1 200 OK\r\n${"X-A: b\r\n".repeat(99)}`, 15)), HANG]],
    },
    right: { error: "unreachable", says: /did not answer within 400 ms/ },
  },
  {
    id: "a-body-drop-by-drop",
    sentence: "The body of a response is sent byte by byte and never ends.",
    speaks: HTTP,
    asks: "get",
    settings: { timeoutMs: 400 },
    replies: {
      getTask: [
        () => [
          bytes(head(200, { "Content-Type": "application/json", "Content-Length": "9999" })),
          flow(drip(" ".repeat(999), 15)),
          HANG,
        ],
      ],
    },
    right: { error: "unreachable", says: /did not answer within 400 ms/ },
  },
  {
    id: "a-card-drop-by-drop",
    sentence: "The card is sent byte by byte and never ends.",
    speaks: [V1_RPC, V03_REST],
    asks: "connect",
    settings: { timeoutMs: 400 },
    replies: {
      card: [() => [flow(drip(`HTTP/1.1 200 OK\r\n${"X-A: b\r\n".repeat(99)}`, 15)), HANG]],
    },
    right: { error: "unreachable", says: /did not answer within 400 ms/ },
  },
  {
    id: "a-slow-stream",
    sentence: "A stream is sent slowly, a few characters at a time.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        (call) => {
          const pieces =
            frames(call, STORY)
              .join("")
              .match(/.{1,40}/gsu) ?? [];
          const slowly = pieces.flatMap((piece) => [bytes(chunk(piece)), wait(5)]);
          return [bytes(STREAM_HEAD), ...slowly, bytes(LAST_CHUNK)];
        },
      ],
    },
    right: GREETED,
  },
  {
    id: "a-slow-card",
    sentence: "The card is sent after half a second.",
    speaks: [V1_RPC, V03_REST],
    asks: "send",
    replies: { card: [async (call) => [wait(500), ...(await showsCard()(call))]] },
    right: GREETED,
  },
  {
    id: "silence",
    sentence: "A stream goes silent without keep-alives while the task continues.",
    speaks: HTTP,
    asks: "stream",
    settings: { idleTimeoutMs: 300 },
    replies: { sendStreamingMessage: [streams(STORY.slice(0, 3), { ending: [HANG] })] },
    right: GREETED,
  },
  {
    id: "silence-with-numbered-events",
    sentence: "A stream of numbered events goes silent while the task continues.",
    speaks: HTTP,
    asks: "stream",
    settings: { idleTimeoutMs: 300 },
    replies: { sendStreamingMessage: [streams(STORY.slice(0, 3), { from: 1, ending: [HANG] })] },
    right: GREETED,
  },
  {
    id: "keep-alives-that-stop",
    sentence: "A stream sends keep-alives, and then not even those.",
    speaks: HTTP,
    asks: "stream",
    settings: { idleTimeoutMs: 300 },
    replies: {
      sendStreamingMessage: [
        streams(STORY.slice(0, 3), { ending: [...withKeepAlives(2, 1100), HANG] }),
      ],
    },
    right: GREETED,
  },
  {
    id: "keep-alives-that-go-on",
    sentence: "A stream sends only keep-alives for a while, and then the rest.",
    speaks: HTTP,
    asks: "stream",
    settings: { idleTimeoutMs: 1500 },
    replies: {
      sendStreamingMessage: [
        (call) => [
          ...(streams(STORY.slice(0, 3), { ending: [] })(call) as readonly Move[]),
          ...withKeepAlives(3, 1100),
          ...frames(call, STORY.slice(3)).map((one) => bytes(chunk(one))),
          bytes(LAST_CHUNK),
        ],
      ],
    },
    right: GREETED,
  },
  {
    id: "silence-everywhere",
    sentence: "A stream goes silent, and all further requests get no response.",
    speaks: HTTP,
    asks: "stream",
    // The card must be read within timeoutMs, on a busy machine, too.
    settings: { idleTimeoutMs: 300, timeoutMs: 2000, giveUpMs: 800 },
    replies: {
      sendStreamingMessage: [streams(STORY.slice(0, 3), { ending: [HANG] })],
      subscribeToTask: [() => [HANG]],
      getTask: [silently],
    },
    right: { error: "unreachable", says: /Retried for \d+ s/ },
  },
  {
    id: "silence-before-the-first-word",
    sentence: "The agent accepts a message and never responds, and the caller aborts.",
    speaks: HTTP,
    asks: "stream",
    settings: { abortMs: 700, idleTimeoutMs: 300 },
    replies: { sendStreamingMessage: [silently] },
    right: { aborted: /the caller has had enough/ },
  },
  {
    id: "silence-after-the-head",
    sentence: "A stream starts but never sends an event, and the caller aborts.",
    speaks: HTTP,
    asks: "stream",
    settings: { abortMs: 700, idleTimeoutMs: 300 },
    replies: { sendStreamingMessage: [streams([], { ending: [HANG] })] },
    right: { aborted: /the caller has had enough/ },
  },
  {
    id: "a-connection-that-stays",
    sentence: "The agent has sent everything but does not end the stream.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streams(STORY, { ending: [HANG] })] },
    right: GREETED,
  },
  {
    id: "slow-to-subscribe",
    sentence: "A stream ends early, and the next one takes a second to start.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streams(STORY.slice(0, 3))],
      subscribeToTask: [
        async (call) => [wait(1000), ...(await honestReply("subscribeToTask")(call))],
      ],
    },
    right: GREETED,
  },
];
