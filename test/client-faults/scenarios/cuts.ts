import { EXTENSIONS } from "@convoke/protocol";
import { showsCard } from "../replies/cards.ts";
import { cut } from "../replies/cut.ts";
import { honestReply } from "../replies/honest.ts";
import { frames, streams, texts } from "../replies/streams.ts";
import { GREETED, STORY, aTask } from "../replies/words.ts";
import { shows } from "../replies/answers.ts";
import type { FaultScenario } from "../fault-scenario.ts";
import { CLOSE, HALF_CLOSE, RESET } from "../wire/move.ts";
import { HTTP } from "./speakings.ts";

const story = streams(STORY);

/** Whether the agent received the message is unknown, so it must not be sent twice. */
const notResent = { error: "unreachable", says: /not resent/ } as const;

const once = { sendMessage: 1, sendStreamingMessage: 1 } as const;

/** Connections that end too early. */
export const CUTS: readonly FaultScenario[] = [
  {
    id: "cut-before-the-answer",
    sentence: "The connection is closed without a byte, after a message.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [() => [CLOSE]] },
    right: notResent,
    atMost: once,
  },
  {
    id: "reset-before-the-answer",
    sentence: "The connection is reset without a byte, after a message.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [() => [RESET]] },
    right: notResent,
    atMost: once,
  },
  {
    id: "cut-in-the-status-line",
    sentence: "The response to a message ends within its status line.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, 7)] },
    right: notResent,
    atMost: once,
  },
  {
    id: "cut-in-the-headers",
    sentence: "The response to a message ends within its headers.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: "Content-Ty" })] },
    right: notResent,
    atMost: once,
  },
  {
    id: "cut-after-the-head",
    sentence: "A stream ends before its first event.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: "\r\n\r\n" })] },
    right: notResent,
    atMost: once,
  },
  {
    id: "cut-in-the-first-event",
    sentence: "A stream ends within its first event, before the task id is known.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: "data: {" })] },
    right: notResent,
    atMost: once,
  },
  {
    id: "cut-in-a-frame",
    sentence: "A stream ends in the middle of a frame.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: '"artifactId"' })] },
    right: GREETED,
  },
  {
    id: "cut-in-a-letter",
    sentence: "A stream ends in the middle of a two-byte character.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: "Gr", by: 1 })] },
    right: GREETED,
  },
  {
    id: "cut-in-a-chunk-size",
    sentence: "A stream ends within the length of a chunk.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: "}\n\n\r\n", by: 1 })] },
    right: GREETED,
  },
  {
    id: "cut-between-cr-and-lf",
    sentence: "A stream ends between the CR and the LF of a line.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        (call) => {
          const [first = "", second = ""] = frames(call, STORY);
          const lines = `${first}${second}`.replaceAll("\n", "\r\n");
          return texts([lines.slice(0, -3)], [CLOSE]);
        },
      ],
    },
    right: GREETED,
  },
  {
    id: "cut-before-the-blank-line",
    sentence: "A stream ends after the data of an event, before the blank line that completes it.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        (call) => texts([frames(call, STORY.slice(0, 3)).join("").slice(0, -1)], [CLOSE]),
      ],
    },
    right: GREETED,
  },
  {
    id: "cut-between-frames",
    sentence: "A stream ends between two frames.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streams(STORY.slice(0, 3), { ending: [CLOSE] })] },
    right: GREETED,
  },
  {
    id: "cut-after-the-last-event",
    sentence: "The connection ends after the last event, before the stream does.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streams(STORY, { ending: [CLOSE] })] },
    right: GREETED,
  },
  {
    id: "cut-with-numbered-events",
    sentence:
      "A stream ends in the middle; its events have ids, and the agent resumes after the " +
      "last one.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(streams(STORY, { from: 1 }), { after: "Welt" })] },
    right: GREETED,
  },
  {
    id: "cut-again-and-again",
    sentence: "A stream ends in the middle, and so do the next two.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [cut(story, { after: '"artifactId"' })],
      subscribeToTask: [
        () => [CLOSE],
        cut(honestReply("subscribeToTask"), 40),
        honestReply("subscribeToTask"),
      ],
    },
    right: GREETED,
  },
  {
    id: "cut-until-it-gives-up",
    sentence: "A stream ends in the middle, and from then on every connection is closed.",
    speaks: HTTP,
    asks: "stream",
    settings: { giveUpMs: 800 },
    replies: {
      sendStreamingMessage: [cut(story, { after: '"artifactId"' })],
      subscribeToTask: [() => [CLOSE]],
      getTask: [() => [CLOSE]],
    },
    right: { error: "unreachable", says: /Retried for \d+ s/ },
  },
  {
    id: "closed-too-early",
    sentence: "The agent ends a stream correctly although its task is still working.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streams(STORY.slice(0, 3))] },
    right: GREETED,
  },
  {
    id: "half-closed-in-a-stream",
    sentence: "The agent half-closes the connection in the middle of a stream and keeps reading.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [cut(story, { after: '"artifactId"' }, HALF_CLOSE)] },
    right: GREETED,
  },
  {
    id: "half-closed-in-an-answer",
    sentence: "The agent half-closes the connection in the middle of a response.",
    speaks: HTTP,
    asks: "send",
    replies: {
      sendMessage: [cut(honestReply("sendMessage"), { after: '"artifactId"' }, HALF_CLOSE)],
    },
    right: notResent,
    atMost: once,
  },
  {
    id: "half-closed-at-once",
    sentence: "The agent half-closes the connection before it responds.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [() => [HALF_CLOSE]] },
    right: { error: "unreachable", says: /no response from/ },
  },
  {
    id: "cut-in-an-answer",
    sentence: "The response to a message ends in the middle.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [cut(honestReply("sendMessage"), { after: '"artifactId"' })] },
    right: notResent,
    atMost: once,
  },
  {
    id: "cut-once-in-a-task",
    sentence: "The response to tasks/get ends in the middle, once.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [cut(shows(aTask("completed")), 30), honestReply("getTask")] },
    right: GREETED,
  },
  {
    id: "cut-always-in-a-task",
    sentence: "The response to tasks/get ends in the middle, every time.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [cut(honestReply("getTask"), { after: '"artifactId"' })] },
    right: { error: "unreachable", says: /was lost/ },
  },
  {
    id: "cut-where-messages-are-known",
    sentence: "The connection is closed after a message, and the agent supports idempotent sends.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      card: [
        showsCard((card) => ({
          ...card,
          capabilities: {
            streaming: true,
            extensions: [
              { uri: EXTENSIONS.idempotency.uri, params: EXTENSIONS.idempotency.params },
            ],
          },
        })),
      ],
      sendStreamingMessage: [() => [CLOSE], story],
    },
    right: GREETED,
    beyond: "sending a message twice is defined by an extension",
  },
];
