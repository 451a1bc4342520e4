import { gzipSync } from "node:zlib";
import type { FaultScenario } from "../fault-scenario.ts";
import { refuses, sends, shows, wrapped } from "../replies/answers.ts";
import { STREAM_HEAD, chunk, head, page, plainly, whole } from "../replies/http.ts";
import { frames, streamsText } from "../replies/streams.ts";
import { GREETED, STORY, aTask, codecOf } from "../replies/words.ts";
import { CLOSE, bytes } from "../wire/move.ts";
import { HTTP, RPC } from "./speakings.ts";

const DONE = aTask(GREETED.state, GREETED.text);

/** Responses of the wrong type, and pages from proxies. */
export const NOT_A_STREAM: readonly FaultScenario[] = [
  {
    id: "json-error-for-a-stream",
    sentence: "A stream request is rejected with a plain error response.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [refuses("InvalidParams", "message.parts is empty")] },
    right: { code: -32602, says: /message\.parts is empty/ },
  },
  {
    id: "json-task-for-a-stream",
    sentence: "The agent responds to a stream request with the completed task.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [sends(DONE)] },
    right: GREETED,
  },
  {
    id: "json-working-task-for-a-stream",
    sentence: "The agent responds to a stream request with a working task.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [sends(aTask("working"))] },
    right: GREETED,
  },
  {
    id: "an-empty-stream",
    sentence: "A stream ends correctly, without an event.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText(() => [])] },
    right: { error: "unreachable", says: /closed the stream without an answer/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "comments-only",
    sentence: "A stream contains only comments.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [streamsText(() => [": hello\n\n", ":\n", ": bye\n\n"])] },
    right: { error: "unreachable", says: /closed the stream without an answer/ },
  },
  {
    id: "html-for-a-stream",
    sentence: "A stream request is answered with an HTML page and 200.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [page(200, "Welcome")] },
    right: { error: "unreadable", says: /is not JSON/ },
  },
  {
    id: "html-for-an-answer",
    sentence: "A request is answered with an HTML page and 200.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [page(200, "Log in")] },
    right: { error: "unreadable", says: /is not JSON/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "html-502",
    sentence: "A proxy answers a message with an HTML page and 502.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [page(502, "502 Bad Gateway")] },
    right: { error: "unreachable", says: /502 Bad Gateway.*not resent/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "html-502-for-a-stream",
    sentence: "A proxy answers a stream request with an HTML page and 502.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [page(502, "502 Bad Gateway")] },
    right: { error: "unreachable", says: /502 Bad Gateway.*not resent/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "html-504-once",
    sentence: "A proxy answers with an HTML page and 504 once, and then the agent responds.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [page(504, "504 Gateway Time-out"), shows(DONE)] },
    right: GREETED,
  },
  {
    id: "html-504-for-ever",
    sentence: "A proxy answers with an HTML page and 504 every time.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [page(504, "504 Gateway Time-out")] },
    right: { httpStatus: 504, says: /504 Gateway Time-out/ },
  },
  {
    id: "html-404",
    sentence: "Nothing listens at the URL on the card.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [page(404, "Not Found")] },
    right: { httpStatus: 404, says: /Not Found/ },
    atMost: { sendMessage: 1, sendStreamingMessage: 1 },
  },
  {
    id: "an-empty-answer",
    sentence: "The response to a message is empty, with 200.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [plainly("")] },
    right: { error: "unreadable", says: /is not JSON|cannot be understood|empty/ },
  },
  {
    id: "json-that-is-no-object",
    sentence: "The response to a message is the JSON `null`.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [plainly("null")] },
    right: { error: "unreadable", says: /neither result nor error|cannot be understood/ },
  },
  {
    id: "json-in-a-list",
    sentence: "The response to a message is a list.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [(call) => whole(JSON.stringify([wrapped(call, {})]))] },
    right: { error: "unreadable", says: /neither result nor error|cannot be understood/ },
  },
  {
    id: "json-that-stops",
    sentence: "The JSON of a response is truncated, and the response ends correctly.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [plainly('{"jsonrpc":"2.0","result":{"task":')] },
    right: { error: "unreadable", says: /is not JSON/ },
  },
  {
    id: "neither-result-nor-error",
    sentence: "A response has neither a result nor an error.",
    speaks: RPC,
    asks: "send",
    replies: { sendMessage: [(call) => whole(JSON.stringify({ jsonrpc: "2.0", id: call.id }))] },
    right: { error: "unreadable", says: /neither result nor error/ },
  },
  {
    id: "result-and-error",
    sentence: "A response has both a result and an error.",
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
    beyond: "JSON-RPC forbids it, and does not define how a client reacts",
  },
  {
    id: "a-task-without-status",
    sentence: "The task in a response has no status.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [(call) => whole(JSON.stringify(wrapped(call, { id: "t1", kind: "task" })))],
    },
    right: { text: "", state: "unknown" },
    beyond: "a status is required, and a client may reject a task without one",
  },
  {
    id: "a-task-without-an-id",
    sentence: "The task in a response has no id.",
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
    beyond: "an id is required, and a client may leave the check to its user",
  },
  {
    id: "not-http",
    sentence: "The server at the URL does not speak HTTP.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [() => [bytes("SSH-2.0-OpenSSH_9.9\r\n"), CLOSE]] },
    right: { error: "unreachable", says: /not HTTP/ },
  },
  {
    id: "headers-without-end",
    sentence: "The headers of a response are larger than any limit.",
    speaks: HTTP,
    asks: "get",
    replies: {
      getTask: [() => [bytes(`HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(300_000)}\r\n\r\n`), CLOSE]],
    },
    right: { error: "unreachable", says: /headers are too large/ },
  },
  {
    id: "shorter-than-it-says",
    sentence: "A response declares a Content-Length that is too large.",
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
    sentence: "A response declares a Content-Length that is too small.",
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
    sentence: "Interim responses precede the real one, which has chunk extensions.",
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
    sentence: "A response is compressed although the client did not request it.",
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
