import type { PublicEvent } from "@convoke/protocol";
import type { FaultCall, FaultReply, FaultScenario } from "../fault-scenario.ts";
import { LAST_CHUNK, STREAM_HEAD, chunk } from "../replies/http.ts";
import { dataOf, frame, frames, streams, streamsText } from "../replies/streams.ts";
import { GREETED, STORY, aChunk, aStatus, aTask } from "../replies/words.ts";
import { bytes, flow } from "../wire/move.ts";
import { GRPC, HTTP, V03_RPC, V1_RPC } from "./speakings.ts";

const TEN_MEGABYTES = "0123456789".repeat(1_000_000);

const MANY = 1_000_000;

/** The greeting with other line endings. */
const withLineEnds = (end: (line: number) => string): FaultReply =>
  streamsText((call) => {
    let line = 0;
    return [
      frames(call, STORY)
        .join("")
        .replaceAll("\n", () => end(line++)),
    ];
  });

/** Frames of one character each, a few hundred at a time. */
function* manyFrames(call: FaultCall): Generator<Uint8Array> {
  const batch = 500;
  const one = frame(call, aChunk("x"));
  yield chunk(frame(call, aTask("working")) + frame(call, aChunk("x", false)));
  yield chunk(one.repeat(batch - 1));
  const rest = chunk(one.repeat(batch));
  for (let sent = batch; sent < MANY; sent += batch) yield rest;
  yield chunk(frame(call, aStatus("completed")));
  yield Buffer.from(LAST_CHUNK);
}

/** Streams that are large, unusual, or slightly outside the standard. */
export const TEXTS: readonly FaultScenario[] = [
  {
    id: "text-in-pieces",
    sentence: "A text is sent in two chunks, without any fault.",
    speaks: [...HTTP, ...GRPC],
    asks: "stream",
    right: GREETED,
  },
  {
    id: "a-huge-event",
    sentence: "One event is ten megabytes long.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streams([STORY[0]!, aChunk(TEN_MEGABYTES, false), aStatus("completed")]),
      ],
    },
    right: { text: TEN_MEGABYTES, state: "completed" },
  },
  {
    id: "a-million-tiny-events",
    sentence: "A stream has a million events of one character each.",
    speaks: [V1_RPC, V03_RPC],
    asks: "stream",
    replies: {
      sendStreamingMessage: [(call) => [bytes(STREAM_HEAD), flow(manyFrames(call))]],
    },
    right: { text: "x".repeat(MANY), state: "completed" },
    boundMs: 60_000,
  },
  {
    id: "a-million-comments",
    sentence: "A stream has a million comments before its last event.",
    speaks: [V1_RPC],
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const all = frames(call, STORY);
          return [...all.slice(0, 3), ":\n\n".repeat(1_000_000), ...all.slice(3)];
        }),
      ],
    },
    right: GREETED,
  },
  {
    id: "not-utf-8",
    sentence: "The text of an event has a byte that is not valid UTF-8.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const odd: readonly PublicEvent[] = [
            STORY[0]!,
            aChunk("a?b", false),
            aStatus("completed"),
          ];
          const text = Buffer.from(frames(call, odd).join(""));
          text[text.indexOf("a?b") + 1] = 0xff;
          return [text];
        }),
      ],
    },
    right: { text: "a\uFFFDb", state: "completed" },
  },
  {
    id: "half-a-letter-in-json",
    sentence: "The text of an event has a lone surrogate.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streams([STORY[0]!, aChunk("a\uD83Eb", false), aStatus("completed")])],
    },
    right: { text: "a\uD83Eb", state: "completed" },
  },
  {
    id: "nul-in-an-id",
    sentence: "The id of an event contains a NUL.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => STORY.map((event) => `id: 1\0\ndata: ${dataOf(call, event)}\n\n`)),
      ],
    },
    right: GREETED,
  },
  {
    id: "an-id-that-no-header-can-have",
    sentence:
      "The id of an event has characters that a header cannot contain, and the stream ends " +
      "early.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) =>
          STORY.slice(0, 3).map(
            (event) => `id: ümläut 🦉 \u0007\ndata: ${dataOf(call, event)}\n\n`,
          ),
        ),
      ],
    },
    right: GREETED,
  },
  {
    id: "lines-end-with-crlf",
    sentence: "Lines end with CR and LF.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [withLineEnds(() => "\r\n")] },
    right: GREETED,
  },
  {
    id: "lines-end-with-cr",
    sentence: "Lines end with only CR.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [withLineEnds(() => "\r")] },
    right: GREETED,
  },
  {
    id: "lines-end-somehow",
    sentence: "Lines end alternately with LF and with CR and LF.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [withLineEnds((line) => (line % 2 === 0 ? "\n" : "\r\n"))] },
    right: GREETED,
  },
  {
    id: "comments-and-retries",
    sentence: "Comments, `retry:` and unknown fields appear between and within events.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) =>
          STORY.map(
            (event) =>
              `: a comment\nretry: 1\nmood: fine\ndata: ${dataOf(call, event)}\n:\nretry: x\n\n\n\n`,
          ),
        ),
      ],
    },
    right: GREETED,
  },
  {
    id: "data-over-several-lines",
    sentence: "The JSON of an event is spread over several data lines.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) =>
          STORY.map((event) => {
            const text = JSON.stringify(JSON.parse(dataOf(call, event)), null, 2);
            return `${text.replaceAll(/^/gm, "data: ")}\n\n`;
          }),
        ),
      ],
    },
    right: GREETED,
  },
  {
    id: "data-without-a-space",
    sentence: "There is no space after the colon.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => STORY.map((event) => `data:${dataOf(call, event)}\n\n`)),
      ],
    },
    right: GREETED,
  },
  {
    id: "a-byte-order-mark",
    sentence: "A stream starts with a byte order mark.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streamsText((call) => ["\uFEFF", ...frames(call, STORY)])],
    },
    right: GREETED,
  },
  {
    id: "no-last-blank-line",
    sentence: "The blank line after the last event is missing.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streamsText((call) => [frames(call, STORY).join("").slice(0, -1)])],
    },
    right: GREETED,
  },
  {
    id: "a-content-type-with-more",
    sentence: "The content type of a stream is in upper case and has parameters.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        (call) => [
          bytes(STREAM_HEAD.replace("text/event-stream", "Text/Event-Stream; Charset=UTF-8")),
          ...frames(call, STORY).map((one) => bytes(chunk(one))),
          bytes(LAST_CHUNK),
        ],
      ],
    },
    right: GREETED,
  },
  {
    id: "byte-by-byte",
    sentence: "Every byte of a stream is a separate chunk.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        streamsText((call) => {
          const all = Buffer.from(frames(call, STORY).join(""));
          return Array.from(all, (byte) => Buffer.of(byte));
        }),
      ],
    },
    right: GREETED,
  },
];
