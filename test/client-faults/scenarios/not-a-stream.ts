import { gzipSync } from "node:zlib";
import type { FaultScenario } from "../fault-scenario.ts";
import { refuses, sends, shows, wrapped } from "../replies/answers.ts";
import { STREAM_HEAD, chunk, head, page, plainly, whole } from "../replies/http.ts";
import { frames, streamsText } from "../replies/streams.ts";
import { GREETED, STORY, aTask, codecOf } from "../replies/words.ts";
import { CLOSE, bytes } from "../wire/move.ts";
import { HTTP, RPC } from "./speakings.ts";

const DONE = aTask(GREETED.state, GREETED.text);

/** Answers that are not what was asked for, and pages of somebody else. */
export const NOT_A_STREAM: readonly FaultScenario[] = [
  {
    id: "json-error-for-a-stream",
    sentence: "A stream is refused by a plain error.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [refuses("InvalidParams", "message.parts is empty")] },
    right: { code: -32602, says: /message\.parts is empty/ },
  },
  {
    id: "json-task-for-a-stream",
    sentence: "The agent answers with the completed task where a stream was asked for.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [sends(DONE)] },
    right: GREETED,
  },
  {
    id: "json-working-task-for-a-stream",
    sentence: "The agent answers with a task at work where a stream was asked for.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [sends(aTask("working"))] },
    right: GREETED,
  },
  {
    id: "an-empty-stream",
    sentence: "A stream ends as it should, without an event.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText(() => [])] },
    right: { error: "unreachable", says: /closed the stream without an answer/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "comments-only",
    sentence: "A stream holds comments alone.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText(() => [": hello\n\n", ":\n", ": bye\n\n"])] },
    right: { error: "unreachable", says: /closed the stream without an answer/ },
  },
  {
    id: "html-for-a-stream",
    sentence: "A page for people comes where a stream was asked for, with 200.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [page(200, "Welcome")] },
    right: { error: "unreadable", says: /is not JSON/ },
  },
  {
    id: "html-for-an-answer",
    sentence: "A page for people comes where an answer was asked for, with 200.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [page(200, "Log in")] },
    right: { error: "unreadable", says: /is not JSON/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "html-502",
    sentence: "A proxy answers a message with a page and 502.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [page(502, "502 Bad Gateway")] },
    right: { error: "unreachable", says: /502 Bad Gateway.*not resent/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "html-502-for-a-stream",
    sentence: "A proxy answers where a stream was asked for, with a page and 502.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [page(502, "502 Bad Gateway")] },
    right: { error: "unreachable", says: /502 Bad Gateway.*not resent/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "html-504-once",
    sentence: "A proxy answers with a page and 504 once, and then the agent does.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [page(504, "504 Gateway Time-out"), shows(DONE)] },
    right: GREETED,
  },
  {
    id: "html-504-for-ever",
    sentence: "A proxy answers with a page and 504 each time.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [page(504, "504 Gateway Time-out")] },
    right: { httpStatus: 504, says: /504 Gateway Time-out/ },
  },
  {
    id: "html-404",
    sentence: "Nothing is at the address that the card names.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [page(404, "Not Found")] },
    right: { httpStatus: 404, says: /Not Found/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "an-empty-answer",
    sentence: "The answer to a message is empty, with 200.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [plainly("")] },
    right: { error: "unreadable", says: /is not JSON|cannot be understood|empty/ },
  },
  {
    id: "json-that-is-no-object",
    sentence: "The answer to a message is the JSON `null`.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [plainly("null")] },
    right: { error: "unreadable", says: /neither result nor error|cannot be understood/ },
  },
  {
    id: "json-in-a-list",
    sentence: "The answer to a message is a list.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [(call) => whole(JSON.stringify([wrapped(call, {})]))] },
    right: { error: "unreadable", says: /neither result nor error|cannot be understood/ },
  },
  {
    id: "json-that-stops",
    sentence: "The JSON of an answer stops in the middle, and the answer ends as it should.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [plainly('{"jsonrpc":"2.0","result":{"task":')] },
    right: { error: "unreadable", says: /is not JSON/ },
  },
  {
    id: "neither-result-nor-error",
    sentence: "An answer has neither a result nor an error.",
    speaks: RPC,
    asks: "send",
    replies: { sendMessage: [(call) => whole(JSON.stringify({ jsonrpc: "2.0", id: call.id }))] },
    right: { error: "unreadable", says: /neither result nor error/ },
  },
  {
    id: "result-and-error",
    sentence: "An answer has both a result and an error.",
    speaks: RPC,
    asks: "send",
    replies: {
      sendMessage: [
        (call) => {
          const result = codecOf(call.speaking).encodeSendResult(DONE);
          const error = { code: -32603, message: "it broke" };
          return whole(JSON.stringify({ jsonrpc: "2.0", id: call.id, result, error }));
        },
      ],
    },
    right: { code: -32603, says: /it broke/ },
    beyond: "JSON-RPC forbids it, and does not say what a client does then",
  },
  {
    id: "a-task-without-status",
    sentence: "The task in an answer has no status.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [(call) => whole(JSON.stringify(wrapped(call, { id: "t1", kind: "task" })))],
    },
    right: { text: "", state: "unknown" },
    beyond: "a status is required, and a client may refuse a task without one",
  },
  {
    id: "a-task-without-an-id",
    sentence: "The task in an answer has no id.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [
        (call) => {
          const { id: _, ...rest } = codecOf(call.speaking).encodeTask(DONE) as {
            readonly id: string;
          };
          return whole(JSON.stringify(wrapped(call, rest)));
        },
      ],
    },
    right: { error: "unreadable", says: /the task has no id/ },
    beyond: "an id is required, and a client may leave it to its user to look",
  },
  {
    id: "not-http",
    sentence: "What answers does not speak HTTP.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [() => [bytes("SSH-2.0-OpenSSH_9.9\r\n"), CLOSE]] },
    right: { error: "unreachable", says: /not HTTP/ },
  },
  {
    id: "headers-without-end",
    sentence: "The headers of an answer are larger than any.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [() => [bytes(`HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(300_000)}\r\n\r\n`), CLOSE]],
    },
    right: { error: "unreachable", says: /headers are too large/ },
  },
  {
    id: "shorter-than-it-says",
    sentence: "An answer says that it is longer than it is.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [
        () => [
          bytes(head(200, { "Content-Type": "application/json", "Content-Length": "999" })),
          bytes("{}"),
          CLOSE,
        ],
      ],
    },
    right: { error: "unreachable", says: /was lost/ },
  },
  {
    id: "longer-than-it-says",
    sentence: "An answer says that it is shorter than it is.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [
        (call) => whole(JSON.stringify(wrapped(call, {})), { headers: { "Content-Length": "1" } }),
      ],
    },
    right: { error: "unreadable", says: /is not JSON/ },
  },
  {
    id: "early-hints",
    sentence: "Interim answers come before the real one, which has extensions in its chunks.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [
        (call) => [
          bytes("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"),
          bytes(STREAM_HEAD),
          ...frames(call, STORY).map((one) =>
            bytes(chunk(one).toString().replace("\r\n", ";name=value\r\n")),
          ),
          bytes("0\r\nX-Trailer: yes\r\n\r\n"),
        ],
      ],
    },
    right: GREETED,
  },
  {
    id: "compressed-without-being-asked",
    sentence: "An answer is compressed although nobody asked for that.",
    speaks: HTTP,
    asks: "send",
    replies: {
      sendMessage: [
        (call) => {
          const body = wrapped(call, codecOf(call.speaking).encodeSendResult(DONE));
          return whole(gzipSync(JSON.stringify(body)), { headers: { "Content-Encoding": "gzip" } });
        },
      ],
    },
    right: { error: "unreadable", says: /is not JSON/, or: GREETED },
  },
  {
    id: "a-message-is-redirected",
    sentence: "A message is redirected to another path of the same agent.",
    speaks: HTTP,
    asks: "send",
    replies: {
      sendMessage: [
        plainly("", { status: 307, headers: { Location: "/a2a/moved/message:send" } }),
        sends(DONE),
      ],
    },
    right: { httpStatus: 307, says: /307/, or: GREETED },
  },
];
