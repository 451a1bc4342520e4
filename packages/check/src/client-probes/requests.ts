import { must, should } from "../probes/probe.ts";
import { type CardOptions, TOKEN, cardFor, interfaceAt } from "../probe-server/honest-agent.ts";
import { ASKING, CONTEXT_ID, DONE, TASK_ID } from "../probe-server/scripted-agent.ts";
import { type ProbePlace, rejects, sends, streams } from "../probe-server/answer.ts";
import type { SeenRequest } from "../probe-server/seen-request.ts";
import { JSON_BINDINGS } from "../wire/client.ts";
import { at, listAt, textAt } from "../wire/json.ts";
import { type ClientProbe, V03, V1 } from "./client-probe.ts";
import {
  messageField,
  require,
  requireCall,
  requireError,
  requireMessage,
  requireMessages,
  requireText,
} from "./judging.ts";

/** How a client writes its requests. */
export const REQUEST_FORM: readonly ClientProbe[] = [
  {
    name: "method",
    says: "Uses the method name, or the path, that the version has for an operation.",
    claims: [must(V1, "§5.3"), must(V03, "§3.5.6")],
    action: "send",
    judge: (visit) => {
      const [unknown] = visit.calls("unknown");
      require(unknown === undefined, "an operation of this version", visit, unknown);
      requireMessage(visit);
    },
  },
  {
    name: "stream-method",
    says: "Asks for a stream with the streaming operation.",
    claims: [must(V1, "§3.1.2"), must(V03, "§7.2")],
    action: "stream",
    judge: (visit) => void requireCall(visit, "sendStreamingMessage"),
  },
  {
    name: "version-header",
    says: "Says in every request which version it speaks.",
    claims: [must(V1, "§3.6.1")],
    action: "send",
    judge: (visit) => {
      const { headers, query } = requireMessage(visit);
      const version = headers["a2a-version"] ?? query["A2A-Version"];
      require(version === "1.0", "the header A2A-Version: 1.0", visit);
    },
  },
  {
    name: "envelope",
    says: "Sends JSON-RPC 2.0 requests with an id and an object of params.",
    claims: [must(V1, "§9.1"), must(V03, "§3.2.1")],
    bindings: ["jsonrpc"],
    action: "send",
    judge: (visit) => {
      const { json } = requireMessage(visit);
      require(textAt(json, "jsonrpc") === "2.0", 'jsonrpc: "2.0"', visit);
      const id = at(json, "id");
      const isId = typeof id === "string" || Number.isInteger(id);
      require(isId, "an id that is a string or a whole number", visit);
      require(at(json, "params", "message") !== undefined, "params.message", visit);
    },
  },
  {
    name: "ids-differ",
    says: "Gives each JSON-RPC request another id.",
    claims: [should(V1, "§9.1"), should(V03, "§6.11.1")],
    bindings: ["jsonrpc"],
    action: "converse",
    judge: (visit) => {
      const ids = requireMessages(visit, 2).map(({ json }) => at(json, "id"));
      require(new Set(ids).size === ids.length, "another id in each request", visit);
    },
  },
  {
    name: "content-type",
    says: "Sends JSON with the media type of JSON.",
    claims: [must(V1, "§9.1, §11.1"), must(V03, "§3.2.1, §3.2.3")],
    bindings: JSON_BINDINGS,
    action: "send",
    judge: (visit) => {
      const type = requireMessage(visit).headers["content-type"] ?? "";
      const isJson = /^application\/(a2a\+)?json\s*(;|$)/i.test(type);
      require(isJson, `content-type: application/json, not "${type}"`, visit);
    },
  },
  {
    name: "accepts-events",
    says: "Accepts text/event-stream if it asks for a stream.",
    claims: [must(V1, "§9.4.2, §11.7"), must(V03, "§3.3.1")],
    bindings: JSON_BINDINGS,
    action: "stream",
    judge: (visit) => {
      const { accept = "*/*" } = requireCall(visit, "sendStreamingMessage").headers;
      const isAccepted = /text\/event-stream|\*\/\*|text\/\*/.test(accept);
      require(isAccepted, `accept: text/event-stream, not "${accept}"`, visit);
    },
  },
  {
    name: "parts",
    says: "Writes parts and roles as the version does.",
    claims: [must(V1, "§4.1.6, §5.5"), must(V03, "§6.4, §6.5")],
    bindings: ["jsonrpc"],
    action: "send",
    judge: (visit, { version }) => {
      const request = requireMessage(visit);
      const [part] = listAt(request.params, "message", "parts");
      require(textAt(part, "text") === "hello", 'a part with the text "hello"', visit);
      const kind = at(part, "kind");
      if (version === "0.3") {
        require(kind === "text", 'parts with kind: "text"', visit);
        require(messageField(request, "role") === "user", 'role: "user"', visit);
      } else {
        require(kind === undefined, "parts without kind", visit);
        require(messageField(request, "role") === "ROLE_USER", 'role: "ROLE_USER"', visit);
      }
    },
  },
  {
    name: "rest-body",
    says: "Writes REST bodies as ProtoJSON, with camelCase names.",
    claims: [must(V1, "§5.5, §11")],
    bindings: ["rest"],
    action: "send",
    judge: (visit) => {
      const request = requireMessage(visit);
      const [part] = listAt(request.params, "message", "parts");
      const isProto = textAt(part, "text") === "hello" && at(part, "kind") === undefined;
      require(isProto, 'a part {"text": "hello"}', visit);
      require(messageField(request, "role") === "ROLE_USER", 'role: "ROLE_USER"', visit);
    },
  },
  {
    name: "required-extension",
    says: "Declares an extension that the agent requires, or reports that it cannot.",
    claims: [must(V1, "§3.3.4, §4.6.3"), must(V03, "§5.5.2.1")],
    action: "send",
    card: (place) =>
      cardFor(place, { capabilities: { extensions: [{ uri: EXTENSION, required: true }] } }),
    replies: {
      sendMessage: (request) => (declares(request) ? sends(DONE) : extensionRequired()),
      sendStreamingMessage: (request) =>
        declares(request) ? streams([DONE]) : extensionRequired(),
    },
    judge: (visit) => {
      const declared = visit.calls("sendMessage", "sendStreamingMessage").some(declares);
      if (!declared) requireError(visit);
    },
  },
  {
    name: "tenant",
    says: "Sends the tenant of the interface that it uses.",
    claims: [must(V1, "§8.3.2")],
    action: "send",
    card: (place) => cardFor(place, { interfaces: [{ ...interfaceAt(place), tenant: TENANT }] }),
    judge: (visit) => {
      const { params } = requireMessage(visit);
      require(textAt(params, "tenant") === TENANT, `the tenant ${TENANT}`, visit);
    },
  },
];

const TENANT = "acme";
const EXTENSION = "https://example.com/extensions/probe/v1";

function declares({ headers }: SeenRequest): boolean {
  const declared = `${headers["a2a-extensions"] ?? ""},${headers["x-a2a-extensions"] ?? ""}`;
  return declared.split(",").some((uri) => uri.trim() === EXTENSION);
}

function extensionRequired() {
  return rejects("ExtensionSupportRequired", `${EXTENSION} is required`);
}

/** How a client uses the ids of messages, tasks and contexts. */
export const IDS: readonly ClientProbe[] = [
  {
    name: "message-id",
    says: "Gives its message an id.",
    claims: [must(V1, "§4.1.4"), must(V03, "§6.4")],
    action: "send",
    judge: (visit) => {
      const id = messageField(requireMessage(visit), "messageId");
      require(typeof id === "string" && id !== "", "a messageId", visit);
    },
  },
  {
    name: "message-ids-differ",
    says: "Gives each message another id.",
    claims: [must(V1, "§4.1.4"), must(V03, "§6.4")],
    action: "converse",
    judge: (visit) => {
      const ids = requireMessages(visit, 2).map((each) => messageField(each, "messageId"));
      require(new Set(ids).size === ids.length, "another messageId in each message", visit);
    },
  },
  {
    name: "no-invented-task",
    says: "Names no task in the message that starts one.",
    claims: [must(V1, "§3.4.2"), must(V03, "§6.4")],
    action: "send",
    judge: (visit) => {
      const id = messageField(requireMessage(visit), "taskId") ?? "";
      require(id === "", "no taskId", visit);
    },
  },
  {
    name: "no-invented-context",
    says: "Leaves it to the agent to create a context.",
    claims: [should(V1, "§3.4.1"), should(V03, "§6.4")],
    action: "send",
    judge: (visit) => {
      const id = messageField(requireMessage(visit), "contextId") ?? "";
      require(id === "", "no contextId", visit);
    },
  },
  {
    name: "context",
    says: "Continues a conversation in the context that the agent named.",
    claims: [must(V1, "§3.4.1"), must(V03, "§6.4")],
    action: "converse",
    judge: (visit) => {
      const [, second] = requireMessages(visit, 2);
      const id = second && messageField(second, "contextId");
      require(id === CONTEXT_ID, `contextId: "${CONTEXT_ID}" in the second message`, visit, second);
    },
  },
  {
    name: "finished-task",
    says: "Sends no further message to a task that has ended.",
    claims: [must(V1, "§3.1.1, §3.4.3"), must(V03, "§6.1")],
    action: "converse",
    judge: (visit) => {
      const [, second] = requireMessages(visit, 2);
      const id = (second && messageField(second, "taskId")) ?? "";
      require(id === "", "no taskId in the second message: the task has ended", visit, second);
    },
  },
  {
    name: "answers-question",
    says: "Answers a question in the task that asked it.",
    claims: [must(V1, "§3.4.3"), must(V03, "§9.4")],
    action: "answer",
    replies: {
      sendMessage: ({ count }) => sends(count === 1 ? ASKING : DONE),
      sendStreamingMessage: ({ count }) => streams([count === 1 ? ASKING : DONE]),
    },
    judge: (visit) => {
      const [, second] = requireMessages(visit, 2);
      const field = (name: string) => second && messageField(second, name);
      require(field("taskId") === TASK_ID, `taskId: "${TASK_ID}" in the answer`, visit, second);
      const context = field("contextId") ?? "";
      const isContext = context === "" || context === CONTEXT_ID;
      require(isContext, `contextId: "${CONTEXT_ID}" in the answer, or none`, visit, second);
    },
  },
];

/** How a client sends its credentials. */
export const CREDENTIALS: readonly ClientProbe[] = [
  {
    name: "token",
    says: "Sends its token in the Authorization header of every request.",
    claims: [must(V1, "§7.3"), must(V03, "§4.3, §4.4")],
    action: "converse",
    needsToken: true,
    card: (place) => cardFor(place, { isSecured: true }),
    replies: {
      sendMessage: (request) => (isAuthorized(request) ? sends(DONE) : unauthorized()),
      sendStreamingMessage: (request) => (isAuthorized(request) ? streams([DONE]) : unauthorized()),
    },
    judge: (visit) => {
      const calls = requireMessages(visit, 2);
      const without = calls.find((call) => !isAuthorized(call));
      require(without === undefined, "authorization: Bearer <token>", visit, without);
      const leak = calls.find(({ path, query, body }) =>
        `${path}${JSON.stringify(query)}${body}`.includes(TOKEN),
      );
      require(leak === undefined, "the token in the header only", visit, leak);
    },
  },
  {
    name: "extended-card",
    says: "Fetches the extended card with its credentials.",
    claims: [must(V1, "§3.1.11"), must(V03, "§7.10")],
    action: "extended-card",
    needsToken: true,
    card: (place) => withExtendedCard(place, { isSecured: true }),
    replies: {
      getExtendedCard: (request, place) =>
        isAuthorized(request)
          ? { kind: "json", encode: () => withExtendedCard(place, { name: EXTENDED_NAME }) }
          : unauthorized(),
    },
    judge: (visit) => {
      const call = requireCall(visit, "getExtendedCard");
      require(isAuthorized(call), "authorization: Bearer <token>", visit, call);
      requireText(visit, EXTENDED_NAME);
    },
  },
];

const EXTENDED_NAME = "Extended Probe";

/** A card that says that there is an extended one. */
function withExtendedCard(place: ProbePlace, options: CardOptions): object {
  const card = cardFor(place, { ...options, capabilities: { extendedAgentCard: true } });
  return place.speaking.version === "1.0"
    ? card
    : { ...card, supportsAuthenticatedExtendedCard: true };
}

function isAuthorized({ headers }: SeenRequest): boolean {
  return headers["authorization"] === `Bearer ${TOKEN}`;
}

function unauthorized() {
  return rejects("Unauthenticated", "a bearer token is required");
}
