import type { FaultReply, FaultScenario } from "../fault-scenario.ts";
import { refuses } from "../replies/answers.ts";
import { plainly } from "../replies/http.ts";
import { honestReply } from "../replies/honest.ts";
import { streams } from "../replies/streams.ts";
import { GREETED, STORY } from "../replies/words.ts";
import { HTTP } from "./speakings.ts";

const busy = (retryAfter: string): FaultReply =>
  plainly("slow down", { status: 429, type: "text/plain", headers: { "Retry-After": retryAfter } });

/** An HTTP date has no fractions of a second, so this is one to two seconds ahead. */
const busyUntil: FaultReply = (call) => busy(new Date(Date.now() + 2000).toUTCString())(call);

const away = plainly("away", { status: 503, type: "text/plain" });
const awayFor0s = plainly("away", {
  status: 503,
  type: "text/plain",
  headers: { "Retry-After": "0" },
});

const unknown = plainly("who are you?", {
  status: 401,
  type: "text/plain",
  headers: { "WWW-Authenticate": 'Bearer realm="greetings"' },
});

const task = honestReply("getTask");
const stream = honestReply("sendStreamingMessage");

/** Accepts only the second token. */
const knowsToken2 =
  (reply: FaultReply): FaultReply =>
  (call) =>
    call.headers["authorization"] === "Bearer token-2" ? reply(call) : unknown(call);

/** Agents that are overloaded or reject the caller's credentials. */
export const REFUSALS: readonly FaultScenario[] = [
  {
    id: "429-in-seconds",
    sentence: "The agent asks the client to retry after one second, and then responds.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [busy("1"), task] },
    right: GREETED,
  },
  {
    id: "429-by-date",
    sentence: "The agent asks the client to retry at a given time, and then responds.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [busyUntil, task] },
    right: GREETED,
  },
  {
    id: "429-for-an-hour",
    sentence: "The agent asks the client to retry after an hour.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [busy("3600")] },
    right: { httpStatus: 429, says: /429.*slow down/ },
    atMost: { getTask: 1 },
  },
  {
    id: "429-in-nonsense",
    sentence: "The agent sends a Retry-After that cannot be parsed.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [busy("soon"), task] },
    right: GREETED,
  },
  {
    id: "429-for-a-message",
    sentence: "The agent is overloaded when a message is first sent.",
    speaks: HTTP,
    asks: "send",
    replies: { sendMessage: [busy("1"), honestReply("sendMessage")] },
    right: GREETED,
  },
  {
    id: "429-for-a-stream",
    sentence: "The agent is overloaded when a stream is first requested.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [busy("1"), stream] },
    right: GREETED,
  },
  {
    id: "503-twice",
    sentence: "The agent is unavailable twice, and then responds.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [away, away, task] },
    right: GREETED,
  },
  {
    id: "503-for-ever",
    sentence: "The agent is permanently unavailable.",
    speaks: HTTP,
    asks: "get",
    replies: { getTask: [away] },
    right: { httpStatus: 503, says: /503.*away/ },
    atMost: { getTask: 3 },
  },
  {
    id: "503-before-a-stream",
    sentence:
      "The agent is unavailable three times, and says when to try again, before it accepts the message.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [awayFor0s, awayFor0s, awayFor0s, stream] },
    right: GREETED,
  },
  {
    id: "503-instead-of-a-stream",
    sentence: "The agent is permanently unavailable for stream requests.",
    speaks: HTTP,
    asks: "stream",
    replies: { sendStreamingMessage: [away] },
    right: { error: "unreachable", says: /503.*away.*not resent: it may have arrived/ },
    atMost: { sendStreamingMessage: 1 },
  },
  {
    id: "503-after-a-cut",
    sentence: "A stream ends early, and the agent is unavailable three times when it is resumed.",
    speaks: HTTP,
    asks: "stream",
    replies: {
      sendStreamingMessage: [streams(STORY.slice(0, 3))],
      subscribeToTask: [away, away, away, honestReply("subscribeToTask")],
    },
    right: GREETED,
  },
  {
    id: "401-for-a-fixed-token",
    sentence: "The agent always rejects the token.",
    speaks: HTTP,
    asks: "get",
    settings: { token: "fixed" },
    replies: { getTask: [unknown] },
    right: { httpStatus: 401, says: /Bearer realm="greetings"/ },
    atMost: { getTask: 1 },
  },
  {
    id: "401-for-fresh-tokens",
    sentence: "The agent rejects every token, even a new one.",
    speaks: HTTP,
    asks: "get",
    settings: { token: "fresh" },
    replies: { getTask: [unknown] },
    right: { httpStatus: 401, says: /Bearer realm="greetings"/ },
    atMost: { getTask: 2 },
  },
  {
    id: "401-until-a-fresh-token",
    sentence: "The agent rejects an expired token and accepts the next one.",
    speaks: HTTP,
    asks: "get",
    settings: { token: "fresh" },
    replies: { getTask: [knowsToken2(task)] },
    right: GREETED,
  },
  {
    id: "401-before-a-stream",
    sentence: "The agent rejects an expired token for a stream and accepts the next one.",
    speaks: HTTP,
    asks: "stream",
    settings: { token: "fresh" },
    replies: { sendStreamingMessage: [knowsToken2(stream)] },
    right: GREETED,
  },
  {
    id: "401-for-the-card",
    sentence: "The agent serves its card only to authenticated callers.",
    speaks: HTTP,
    asks: "connect",
    replies: { card: [unknown] },
    right: { error: "no-card", says: /401.*Bearer realm="greetings".*pass a token/ },
  },
  {
    id: "403",
    sentence: "The agent knows the caller but denies access.",
    speaks: HTTP,
    asks: "get",
    settings: { token: "fixed" },
    replies: { getTask: [plainly("not you", { status: 403, type: "text/plain" })] },
    right: { httpStatus: 403, says: /403.*not you/ },
    atMost: { getTask: 1 },
  },
  {
    id: "a-token-told-back",
    sentence: "The agent quotes the token in its error.",
    speaks: HTTP,
    asks: "get",
    settings: { token: "fixed" },
    replies: {
      getTask: [
        (call) => refuses("Internal", `cannot use ${call.headers["authorization"]} here`)(call),
      ],
    },
    right: { code: -32603, says: /^cannot use Bearer (?!token-1).* here$/ },
    beyond: "nothing requires a client to redact the agent's text",
  },
];
