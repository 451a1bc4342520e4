import type { FaultScenario } from "../fault-scenario.ts";
import {
  GRPC_HEAD,
  GRPC_OK,
  grpcFrame,
  grpcRefuses,
  grpcShows,
  grpcStreams,
  taskBytes,
} from "../replies/grpc.ts";
import { showsCard, withUrl } from "../replies/cards.ts";
import { honestGrpcReply } from "../replies/honest.ts";
import { GREETED, STORY, aTask } from "../replies/words.ts";
import type { GrpcMove } from "../wire/grpc-move.ts";
import { GRPC } from "./speakings.ts";

const DONE = aTask(GREETED.state, GREETED.text);
const BEGUN = STORY.slice(0, 3);

const INTERNAL_ERROR = 2;
const REFUSED_STREAM = 7;
const NGHTTP2_CANCEL = 8;

/** Long enough for what was sent before to be read. */
const A_MOMENT: GrpcMove = { kind: "wait", ms: 50 };

/** What goes wrong on gRPC and HTTP/2 alone. */
export const GRPC_FAULTS: readonly FaultScenario[] = [
  {
    id: "grpc-trailers-only",
    sentence: "An error comes in the head of the answer, without any message.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "5", "grpc-message": "Task not found: t1" })],
    },
    right: { code: -32001, says: /Task not found: t1/ },
  },
  {
    id: "grpc-error-after-events",
    sentence: "A stream ends with an error after some events.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: {
      sendStreamingMessage: [
        grpcStreams(BEGUN, [
          { kind: "trailers", trailers: { "grpc-status": "13", "grpc-message": "it broke" } },
        ]),
      ],
    },
    right: { code: -32603, says: /it broke/ },
  },
  {
    id: "grpc-without-trailers",
    sentence: "A stream ends and does not say how it went.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: { sendStreamingMessage: [grpcStreams(BEGUN, [{ kind: "end" }])] },
    right: GREETED,
  },
  {
    id: "grpc-answer-without-trailers",
    sentence: "An answer ends and does not say how it went.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [(call) => [GRPC_HEAD, grpcFrame(taskBytes(call, DONE)), { kind: "end" }]],
    },
    right: { error: "unreachable", says: /ended before the response was complete/ },
  },
  {
    id: "grpc-rst-in-a-stream",
    sentence: "A stream is reset in the middle.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: {
      sendStreamingMessage: [grpcStreams(BEGUN, [A_MOMENT, { kind: "rst", code: INTERNAL_ERROR }])],
    },
    right: GREETED,
  },
  {
    id: "grpc-rst-canceled",
    sentence: "A stream is reset in the middle, as if its caller had canceled it.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: {
      sendStreamingMessage: [grpcStreams(BEGUN, [A_MOMENT, { kind: "rst", code: NGHTTP2_CANCEL }])],
    },
    right: GREETED,
  },
  {
    id: "grpc-refused-stream",
    sentence: "The agent refuses a call before it looks at it, once.",
    speaks: GRPC,
    asks: "send",
    grpcReplies: {
      sendMessage: [() => [{ kind: "rst", code: REFUSED_STREAM }], honestGrpcReply("sendMessage")],
    },
    right: GREETED,
  },
  {
    id: "grpc-goaway-and-on",
    sentence: "The agent takes no new calls in the middle of a stream, and the stream goes on.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: {
      sendStreamingMessage: [
        (call) => {
          const [head, ...events] = grpcStreams(STORY)(call);
          return [head!, ...events.slice(0, 3), { kind: "goaway" }, A_MOMENT, ...events.slice(3)];
        },
      ],
    },
    right: GREETED,
  },
  {
    id: "grpc-goaway-and-close",
    sentence: "The agent takes no new calls in the middle of a stream, and closes the connection.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: {
      sendStreamingMessage: [
        grpcStreams(BEGUN, [A_MOMENT, { kind: "goaway" }, A_MOMENT, { kind: "close" }]),
      ],
    },
    right: GREETED,
  },
  {
    id: "grpc-closed",
    sentence: "The connection is closed in the middle of a stream.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: { sendStreamingMessage: [grpcStreams(BEGUN, [A_MOMENT, { kind: "close" }])] },
    right: GREETED,
  },
  {
    id: "grpc-closed-at-once",
    sentence: "The connection is closed after a message, before any answer.",
    speaks: GRPC,
    asks: "send",
    grpcReplies: { sendMessage: [() => [{ kind: "close" }]] },
    right: { error: "unreachable", says: /not resent/ },
    atMost: { sendMessage: 1 },
  },
  {
    id: "grpc-compressed",
    sentence: "A message says that it is compressed, which was not asked for.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [(call) => [GRPC_HEAD, grpcFrame(taskBytes(call, DONE), 1), GRPC_OK]],
    },
    right: { error: "unreadable", says: /is compressed/ },
  },
  {
    id: "grpc-longer-than-it-says",
    sentence: "A message is longer than it says.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [
        (call) => {
          const bytes = taskBytes(call, DONE);
          return [GRPC_HEAD, grpcFrame(bytes, 0, bytes.length - 7), GRPC_OK];
        },
      ],
    },
    right: { error: "unreadable", says: /gRPC message|cannot be understood|protobuf/ },
  },
  {
    id: "grpc-shorter-than-it-says",
    sentence: "A message is shorter than it says, and the answer ends well.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [
        (call) => {
          const bytes = taskBytes(call, DONE);
          return [GRPC_HEAD, grpcFrame(bytes, 0, bytes.length + 7), GRPC_OK];
        },
      ],
    },
    right: { error: "unreachable", says: /ended before the response was complete/ },
  },
  {
    id: "grpc-larger-than-anything",
    sentence: "A message says that it is four gigabytes long.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [() => [GRPC_HEAD, grpcFrame(Buffer.from("x"), 0, 2 ** 32 - 1), GRPC_OK]],
    },
    right: { error: "unreadable", says: /larger than/ },
  },
  {
    id: "grpc-not-protobuf",
    sentence: "A message is not what its type says.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: { getTask: [() => [GRPC_HEAD, grpcFrame(Buffer.from([0xff, 0xff, 7])), GRPC_OK]] },
    right: { error: "unreadable", says: /protobuf/ },
  },
  {
    id: "grpc-twice",
    sentence: "Two messages come where one is due.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [
        (call) => {
          const message = grpcFrame(taskBytes(call, DONE));
          return [GRPC_HEAD, message, message, GRPC_OK];
        },
      ],
    },
    right: { error: "unreadable", says: /2 messages instead of one/ },
  },
  {
    id: "grpc-nothing",
    sentence: "An answer ends well without a message.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: { getTask: [() => [GRPC_HEAD, GRPC_OK]] },
    right: { error: "unreadable", says: /0 messages instead of one/ },
  },
  {
    id: "grpc-is-a-page",
    sentence: "A page for people comes where gRPC is due, with 200.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: { getTask: [() => htmlPage(200)] },
    right: { error: "unreadable", says: /text\/html/ },
  },
  {
    id: "grpc-502",
    sentence: "A proxy answers with a page and 502.",
    speaks: GRPC,
    asks: "send",
    grpcReplies: { sendMessage: [() => htmlPage(502)] },
    right: { error: "unreachable", says: /502.*not resent/ },
    atMost: { sendMessage: 1 },
  },
  {
    id: "grpc-bad-details",
    sentence: "The details of an error cannot be read.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [
        grpcRefuses({
          "grpc-status": "5",
          "grpc-message": "Task not found: t1",
          "grpc-status-details-bin": "////",
        }),
      ],
    },
    right: { code: -32001, says: /Task not found: t1/ },
  },
  {
    id: "grpc-odd-status",
    sentence: "An error has a status that gRPC does not have, and words that cannot be decoded.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "99", "grpc-message": "100% odd %zz" })],
    },
    right: { code: -32603, says: /100% odd/ },
  },
  {
    id: "grpc-unavailable-once",
    sentence: "The agent is away once, and then answers.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "14", "grpc-message": "away" }), grpcShows(DONE)],
    },
    right: GREETED,
  },
  {
    id: "grpc-unauthenticated",
    sentence: "The agent takes no token, however fresh it is.",
    speaks: GRPC,
    asks: "get",
    settings: { token: "fresh" },
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "16", "grpc-message": "who are you?" })],
    },
    right: { error: "other-origin", says: /credentials were not given for/ },
    beyond:
      "its gRPC is at another port, and a client may leave it to its user whom a token is for",
  },
  {
    id: "grpc-silence",
    sentence: "The agent takes a call and never answers.",
    speaks: GRPC,
    asks: "get",
    settings: { timeoutMs: 400 },
    grpcReplies: { getTask: [() => [{ kind: "hang" }]] },
    right: { error: "unreachable", says: /did not answer within 400 ms/ },
  },
  {
    id: "grpc-silence-in-a-stream",
    sentence: "A stream falls silent, and the task goes on elsewhere.",
    speaks: GRPC,
    asks: "stream",
    settings: { idleTimeoutMs: 300 },
    grpcReplies: { sendStreamingMessage: [grpcStreams(BEGUN, [{ kind: "hang" }])] },
    right: GREETED,
  },
  {
    id: "grpc-is-http-1",
    sentence: "What is at the address of gRPC speaks HTTP/1.1.",
    speaks: GRPC,
    asks: "get",
    replies: { card: [showsCard((card, { origin }) => withUrl(card, new URL(origin).host))] },
    right: { error: "unreachable", says: /does not speak HTTP\/2/ },
  },
];

function htmlPage(status: number): readonly GrpcMove[] {
  return [
    { kind: "head", headers: { ":status": status, "content-type": "text/html" } },
    { kind: "bytes", bytes: Buffer.from("<!DOCTYPE html><html><title>Welcome</title></html>") },
    { kind: "end" },
  ];
}
