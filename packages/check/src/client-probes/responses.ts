import { must, should } from "../probes/probe.ts";
import {
  type Answer,
  type RawAnswer,
  raw,
  rejects,
  sends,
  shows,
  streams,
} from "../probe-server/answer.ts";
import { ANSWER_TEXT, DONE, HALF_DONE, aMessage } from "../probe-server/scripted-agent.ts";
import type { Step } from "../probe-server/seen-request.ts";
import type { Visit } from "../probe-server/visit.ts";
import { JSON_BINDINGS } from "../wire/client.ts";
import { at } from "../wire/json.ts";
import { type ClientProbe, V03, V1 } from "./client-probe.ts";
import { require, requireError, requireMessages, requireText } from "./judging.ts";

/** Responses that a client has to understand. */
export const RESULTS: readonly ClientProbe[] = [
  {
    name: "task",
    says: "Reads the answer from the artifacts of a task.",
    claims: [must(V1, "§3.1.1, §3.7"), must(V03, "§7.1")],
    action: "send",
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "message",
    says: "Reads an answer that is a message.",
    claims: [must(V1, "§3.1.1"), must(V03, "§7.1")],
    action: "send",
    replies: toMessages(
      () => sends(aMessage(ANSWER_TEXT)),
      () => streams([aMessage(ANSWER_TEXT)]),
    ),
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "unfinished-task",
    says: "Follows a task that is still working when the send returns.",
    claims: [should(V1, "§3.2.2"), should(V03, "§7.1, §7.3")],
    action: "send",
    replies: {
      sendMessage: () => sends(HALF_DONE),
      getTask: ({ count }) => shows(count === 1 ? HALF_DONE : DONE),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "charset",
    says: "Accepts a charset in the media type of JSON.",
    claims: [must(V1, "§9.1, §11.1"), must(V03, "§3.2.1")],
    bindings: JSON_BINDINGS,
    action: "send",
    replies: {
      sendMessage: () => ({
        ...sends(DONE),
        headers: { "content-type": "application/json; charset=utf-8" },
      }),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "a2a-json",
    says: "Accepts the media type application/a2a+json.",
    claims: [must(V1, "§11.1")],
    bindings: ["rest"],
    action: "send",
    replies: {
      sendMessage: () => ({
        ...sends(DONE),
        headers: { "content-type": "application/a2a+json" },
      }),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "slow-answer",
    says: "Waits for a response that takes three seconds.",
    claims: [must(V1, "§3.2.2"), must(V03, "§7.1")],
    action: "send",
    replies: { sendMessage: () => ({ ...sends(DONE), delayMs: 3000 }) },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
];

/** The same answer, whether the client streams or not. */
function toMessages(send: () => Answer, stream: () => Answer = send) {
  return { sendMessage: send, sendStreamingMessage: stream } as const satisfies Partial<
    Record<Step, () => Answer>
  >;
}

/** Errors, and responses that are not A2A at all. */
export const ERROR_RESPONSES: readonly ClientProbe[] = [
  {
    name: "error",
    says: "Reports an error of the agent as an error.",
    claims: [must(V1, "§3.3.2"), must(V03, "§8")],
    action: "send",
    replies: toMessages(() => rejects("InvalidParams", "this message is not acceptable")),
    judge: requireError,
  },
  {
    name: "unknown-code",
    says: "Reports an error whose code it does not know, and that has no data.",
    claims: [must(V1, "§9.5"), must(V03, "§8")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: {
      sendMessage: ({ json }) =>
        raw(200, JSON.stringify({ jsonrpc: "2.0", id: at(json, "id"), error: UNKNOWN_ERROR })),
    },
    judge: requireError,
  },
  {
    name: "other-id",
    says: "Does not accept the response to another request.",
    claims: [should(V1, "§9.1"), should(V03, "§6.11.2")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: { sendMessage: () => ({ ...sends(DONE), id: "another request" }) },
    judge: requireError,
  },
  {
    name: "page",
    says: "Reports an error if it receives a web page with status 200.",
    claims: [must(V1, "§3.3.2"), must(V03, "§3.2.1")],
    bindings: JSON_BINDINGS,
    action: "send",
    replies: toMessages(() => raw(200, "<!DOCTYPE html><p>Welcome</p>", "text/html")),
    judge: requireError,
  },
  {
    name: "error-page",
    says: "Reports an error if it receives a web page with status 500.",
    claims: [must(V1, "§3.3.2"), must(V03, "§3.2.1")],
    bindings: JSON_BINDINGS,
    action: "send",
    replies: toMessages(() => raw(500, "<!DOCTYPE html><p>Oops</p>", "text/html")),
    judge: requireError,
  },
  {
    name: "empty-body",
    says: "Reports an error if the response is empty.",
    claims: [must(V1, "§3.3.2"), must(V03, "§3.2.1")],
    bindings: JSON_BINDINGS,
    action: "send",
    replies: toMessages(() => raw(200, "")),
    judge: requireError,
  },
  {
    name: "unauthorized",
    says: "Reports that it is not authenticated, and does not repeat the request again and again.",
    claims: [must(V1, "§7.4"), must(V03, "§4.4")],
    action: "send",
    replies: toMessages(() => rejects("Unauthenticated", "a bearer token is required")),
    judge: (visit) => {
      const { length } = requireMessages(visit);
      require(length <= 3, `at most 3 attempts, not ${length}`, visit);
      requireError(visit);
    },
  },
  {
    name: "too-many-requests",
    says: "Waits as long as Retry-After says before it tries again, or reports an error.",
    claims: [should(V1, "§3.3.2"), should(V03, "§8")],
    bindings: JSON_BINDINGS,
    action: "send",
    replies: { sendMessage: ({ count }) => (count === 1 ? later(429) : sends(DONE)) },
    judge: waitsOrFails,
  },
  {
    name: "unavailable",
    says: "Waits as long as Retry-After says when the agent is unavailable, or reports an error.",
    claims: [should(V1, "§3.3.2"), should(V03, "§8")],
    bindings: JSON_BINDINGS,
    action: "send",
    replies: { sendMessage: ({ count }) => (count === 1 ? later(503) : sends(DONE)) },
    judge: waitsOrFails,
  },
];

const UNKNOWN_ERROR = { code: -32_077, message: "The agent is out of coffee." };

const RETRY_AFTER_MS = 1000;

function later(status: number): RawAnswer {
  const headers = { "retry-after": String(RETRY_AFTER_MS / 1000) };
  return { ...raw(status, "", "text/plain"), headers };
}

/** Clocks and timers are not exact. */
const TOLERANCE_MS = 100;

function waitsOrFails(visit: Visit): void {
  const [first, second] = requireMessages(visit);
  if (first === undefined || second === undefined) return requireError(visit);
  const waitedMs = second.atMs - first.atMs;
  require(waitedMs >=
    RETRY_AFTER_MS -
      TOLERANCE_MS, `the next attempt after 1 s, not after ${Math.round(waitedMs)} ms`, visit, second);
}
