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

/** Long enough for the client to read what was sent before. */
const A_MOMENT: GrpcMove = { kind: "wait", ms: 50 };

/** Faults that are specific to gRPC and HTTP/2. */
export const GRPC_FAULTS: readonly FaultScenario[] = [
  {
    id: "grpc-trailers-only",
    sentence: "An error is in the head of the response, without a message.",
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
    sentence: "A stream ends without a gRPC status.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: { sendStreamingMessage: [grpcStreams(BEGUN, [{ kind: "end" }])] },
    right: GREETED,
  },
  {
    id: "grpc-answer-without-trailers",
    sentence: "A response ends without a gRPC status.",
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
    sentence: "A stream is reset in the middle with CANCEL, as if the caller had canceled it.",
    speaks: GRPC,
    asks: "stream",
    grpcReplies: {
      sendStreamingMessage: [grpcStreams(BEGUN, [A_MOMENT, { kind: "rst", code: NGHTTP2_CANCEL }])],
    },
    right: GREETED,
  },
  {
    id: "grpc-refused-stream",
    sentence: "The agent refuses a call before processing it (REFUSED_STREAM), once.",
    speaks: GRPC,
    asks: "send",
    grpcReplies: {
      sendMessage: [() => [{ kind: "rst", code: REFUSED_STREAM }], honestGrpcReply("sendMessage")],
    },
    right: GREETED,
  },
  {
    id: "grpc-goaway-and-on",
    sentence: "The agent sends GOAWAY in the middle of a stream, and the stream continues.",
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
    sentence: "The agent sends GOAWAY in the middle of a stream and closes the connection.",
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
    sentence: "The connection is closed after a message, before any response.",
    speaks: GRPC,
    asks: "send",
    grpcReplies: { sendMessage: [() => [{ kind: "close" }]] },
    right: { error: "unreachable", says: /not resent/ },
    atMost: { sendMessage: 1 },
  },
  {
    id: "grpc-compressed",
    sentence: "A message is marked as compressed, which the client did not request.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [(call) => [GRPC_HEAD, grpcFrame(taskBytes(call, DONE), 1), GRPC_OK]],
    },
    right: { error: "unreadable", says: /is compressed/ },
  },
  {
    id: "grpc-longer-than-it-says",
    sentence: "A message is longer than its declared length.",
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
    sentence: "A message is shorter than its declared length, and the response ends with OK.",
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
    sentence: "A message declares a length of four gigabytes.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [() => [GRPC_HEAD, grpcFrame(Buffer.from("x"), 0, 2 ** 32 - 1), GRPC_OK]],
    },
    right: { error: "unreadable", says: /larger than/ },
  },
  {
    id: "grpc-not-protobuf",
    sentence: "A message does not match its type.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: { getTask: [() => [GRPC_HEAD, grpcFrame(Buffer.from([0xff, 0xff, 7])), GRPC_OK]] },
    right: { error: "unreadable", says: /protobuf/ },
  },
  {
    id: "grpc-twice",
    sentence: "Two messages are sent where one is expected.",
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
    sentence: "A response ends with OK but has no message.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: { getTask: [() => [GRPC_HEAD, GRPC_OK]] },
    right: { error: "unreadable", says: /0 messages instead of one/ },
  },
  {
    id: "grpc-is-a-page",
    sentence: "An HTML page is served with 200 in place of gRPC.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: { getTask: [() => htmlPage(200)] },
    right: { error: "unreadable", says: /text\/html/ },
  },
  {
    id: "grpc-502",
    sentence: "A proxy responds with an HTML page and 502.",
    speaks: GRPC,
    asks: "send",
    grpcReplies: { sendMessage: [() => htmlPage(502)] },
    right: { error: "unreachable", says: /502.*not resent/ },
    atMost: { sendMessage: 1 },
  },
  {
    id: "grpc-bad-details",
    sentence: "The details of an error cannot be decoded.",
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
    sentence: "An error has an undefined gRPC status code and a message that cannot be decoded.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "99", "grpc-message": "100% odd %zz" })],
    },
    right: { code: -32603, says: /100% odd/ },
  },
  {
    id: "grpc-unavailable-once",
    sentence: "The agent is unavailable once, and then responds.",
    speaks: GRPC,
    asks: "get",
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "14", "grpc-message": "away" }), grpcShows(DONE)],
    },
    right: GREETED,
  },
  {
    id: "grpc-unauthenticated",
    sentence: "The agent rejects every token, even a new one.",
    speaks: GRPC,
    asks: "get",
    settings: { token: "fresh" },
    grpcReplies: {
      getTask: [grpcRefuses({ "grpc-status": "16", "grpc-message": "who are you?" })],
    },
    right: { error: "other-origin", says: /credentials were not given for/ },
    beyond:
      "its gRPC is at another port, and a client may leave it to its user which origins a " +
      "token is sent to",
  },
  {
    id: "grpc-silence",
    sentence: "The agent accepts a call and never responds.",
    speaks: GRPC,
    asks: "get",
    settings: { timeoutMs: 400 },
    grpcReplies: { getTask: [() => [{ kind: "hang" }]] },
    right: { error: "unreachable", says: /did not answer within 400 ms/ },
  },
  {
    id: "grpc-silence-in-a-stream",
    sentence: "A stream goes silent while the task continues.",
    speaks: GRPC,
    asks: "stream",
    settings: { idleTimeoutMs: 300 },
    grpcReplies: { sendStreamingMessage: [grpcStreams(BEGUN, [{ kind: "hang" }])] },
    right: GREETED,
  },
  {
    id: "grpc-is-http-1",
    sentence: "The address of the gRPC endpoint serves HTTP/1.1.",
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
