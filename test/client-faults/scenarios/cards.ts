import type { FaultReply, FaultScenario } from "../fault-scenario.ts";
import { AGENT_NAME, cardOf, showsCard, withUrl } from "../replies/cards.ts";
import { chunk, head, page, plainly, whole } from "../replies/http.ts";
import { GREETED } from "../replies/words.ts";
import { bytes, flow } from "../wire/move.ts";
import { HTTP, RPC } from "./speakings.ts";

const FOUND = { text: AGENT_NAME };

const nothing = page(404, "Not Found");

const redirect =
  (to: (origin: string) => string): FaultReply =>
  (call) =>
    whole("", { status: 302, headers: { Location: to(call.origin) } });

/** The same agent under another host name, which is another origin. */
const elsewhere = (origin: string) => origin.replace("127.0.0.1", "localhost");

function* forEver(): Generator<Uint8Array> {
  yield chunk('{"name":"');
  for (;;) yield chunk("x".repeat(65_536));
}

/** Cards that are missing, invalid or misleading. */
export const CARDS: readonly FaultScenario[] = [
  {
    id: "no-card",
    sentence: "There is no card at any of the usual paths.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [nothing] },
    right: { error: "no-card", says: /agent-card\.json answered 404.*agent\.json answered 404/ },
  },
  {
    id: "card-at-the-old-place",
    sentence: "The card is at the path that was used before 0.3.",
    speaks: RPC,
    asks: "connect",
    replies: {
      card: [(call) => (call.path.endsWith("/agent.json") ? showsCard()(call) : nothing(call))],
    },
    right: FOUND,
    beyond: "both versions define only the new path",
  },
  {
    id: "card-is-a-page",
    sentence: "An HTML page is served with 200 in place of the card.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [page(200, "Welcome")] },
    right: { error: "no-card", says: /not JSON/ },
  },
  {
    id: "card-is-half",
    sentence: "The JSON of the card is truncated.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [(call) => whole(JSON.stringify(cardOf(call)).slice(0, 90))] },
    right: { error: "no-card", says: /not JSON/ },
  },
  {
    id: "card-is-empty",
    sentence: "The card is empty.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [plainly("")] },
    right: { error: "no-card", says: /not JSON/ },
  },
  {
    id: "card-is-a-list",
    sentence: "The card is a list.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [plainly("[1, 2, 3]")] },
    right: { error: "no-card", says: /not an object/ },
  },
  {
    id: "card-without-interfaces",
    sentence: "The card has no URL for the agent.",
    speaks: HTTP,
    asks: "send",
    replies: {
      card: [showsCard((card) => ({ ...card, supportedInterfaces: undefined, url: undefined }))],
    },
    right: { error: "no-interface", says: /none at all/ },
  },
  {
    id: "card-of-wrong-types",
    sentence: "The fields of the card have the wrong types.",
    speaks: HTTP,
    asks: "send",
    replies: {
      card: [
        showsCard((card) =>
          "url" in card
            ? { ...card, url: 7, capabilities: "yes", skills: null }
            : { ...card, supportedInterfaces: { url: 7 }, capabilities: "yes", skills: null },
        ),
      ],
    },
    right: { error: "no-interface", says: /none at all/ },
  },
  {
    id: "card-without-a-name",
    sentence: "The card has only a URL.",
    speaks: RPC,
    asks: "send",
    replies: {
      card: [
        showsCard(({ url, preferredTransport, supportedInterfaces }) => ({
          url,
          preferredTransport,
          supportedInterfaces,
        })),
      ],
    },
    right: GREETED,
  },
  {
    id: "card-is-huge",
    sentence: "The card is 20 megabytes long.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [showsCard((card) => ({ ...card, description: "x".repeat(20_000_000) }))] },
    right: { error: "unreadable", says: /larger than/, or: FOUND },
  },
  {
    id: "card-without-end",
    sentence: "The body of the card never ends.",
    speaks: RPC,
    asks: "connect",
    replies: {
      card: [
        () => [
          bytes(head(200, { "Content-Type": "application/json", "Transfer-Encoding": "chunked" })),
          flow(forEver()),
        ],
      ],
    },
    right: { error: "unreadable", says: /larger than/ },
  },
  {
    id: "card-with-byte-order-mark",
    sentence: "The card starts with a byte order mark.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [(call) => whole(`\uFEFF${JSON.stringify(cardOf(call))}`)] },
    right: FOUND,
  },
  {
    id: "card-with-keys-twice",
    sentence: "The card has its name and its URL twice, and the second ones apply.",
    speaks: RPC,
    asks: "send",
    replies: {
      card: [
        (call) => {
          const wrong = '"name":"Impostor","url":"http://127.0.0.1:1/","supportedInterfaces":[]';
          return whole(`{${wrong},${JSON.stringify(cardOf(call)).slice(1)}`);
        },
      ],
    },
    right: GREETED,
  },
  {
    id: "card-with-a-prototype",
    sentence: "The card attempts prototype pollution.",
    speaks: RPC,
    asks: "send",
    replies: {
      card: [
        (call) =>
          whole(
            `{"__proto__":{"url":"http://evil.test/"},${JSON.stringify(cardOf(call)).slice(1)}`,
          ),
      ],
    },
    right: GREETED,
  },
  {
    id: "card-as-plain-text",
    sentence: "The card has the content type text/plain.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [showsCard(undefined, { type: "text/plain" })] },
    right: FOUND,
  },
  {
    id: "card-without-content-type",
    sentence: "The card has no content type.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [showsCard(undefined, { type: "" })] },
    right: FOUND,
  },
  {
    id: "card-is-deep",
    sentence: "A field of the card is nested ten thousand levels deep.",
    speaks: RPC,
    asks: "connect",
    replies: {
      card: [
        (call) => {
          const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
          return whole(`{"x":${deep},${JSON.stringify(cardOf(call)).slice(1)}`);
        },
      ],
    },
    right: FOUND,
  },
  {
    id: "card-has-moved",
    sentence: "The card redirects to another path of the same agent.",
    speaks: RPC,
    asks: "connect",
    replies: {
      card: [
        (call) =>
          call.path === "/cards/greeter.json"
            ? showsCard()(call)
            : redirect(() => "/cards/greeter.json")(call),
      ],
    },
    right: FOUND,
  },
  {
    id: "card-has-left",
    sentence: "The card redirects to another origin.",
    speaks: RPC,
    asks: "connect",
    settings: { token: "fixed" },
    replies: {
      card: [
        (call) =>
          call.headers["host"]?.startsWith("localhost") === true
            ? showsCard()(call)
            : redirect((origin) => `${elsewhere(origin)}/cards/greeter.json`)(call),
      ],
    },
    right: { error: "other-origin", says: /another origin; nothing was sent there/, or: FOUND },
  },
  {
    id: "card-goes-in-circles",
    sentence: "The card redirects to itself.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [redirect((origin) => `${origin}/.well-known/agent-card.json`)] },
    right: { error: "unreachable", says: /redirects more than/ },
  },
  {
    id: "card-has-not-changed",
    sentence: "The agent responds with 304 although the client has no cached card.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [plainly("", { status: 304 })] },
    right: { error: "no-card", says: /304/ },
  },
  {
    id: "card-broke",
    sentence: "The agent responds with 500 when its card is requested.",
    speaks: RPC,
    asks: "connect",
    replies: { card: [page(500, "Internal Server Error")] },
    right: { error: "no-card", says: /500/ },
  },
  {
    id: "card-leads-elsewhere-with-a-token",
    sentence: "The card of an agent that is called with a token refers to another origin.",
    speaks: HTTP,
    asks: "send",
    settings: { token: "fixed" },
    replies: { card: [showsCard((card, { origin }) => withUrl(card, `${elsewhere(origin)}/a2a`))] },
    right: { error: "other-origin", says: /credentials were not given for/ },
    beyond: "a client may leave it to its user which origins a token is sent to",
  },
  {
    id: "card-leads-inside",
    sentence: "The card refers to an address in the private network of the client.",
    speaks: HTTP,
    asks: "send",
    replies: { card: [showsCard((card) => withUrl(card, "http://169.254.169.254/latest"))] },
    right: { error: "refused", says: /169\.254\.169\.254/ },
    beyond: "a client may leave it to its user where requests may go",
  },
  {
    id: "card-leads-to-a-file",
    sentence: "The card refers to a file: URL.",
    speaks: HTTP,
    asks: "send",
    replies: { card: [showsCard((card) => withUrl(card, "file:///etc/passwd"))] },
    right: { error: "no-interface", says: /file:\/\/\/etc\/passwd/ },
  },
  {
    id: "card-leads-nowhere",
    sentence: "The URL on the card is invalid.",
    speaks: HTTP,
    asks: "send",
    replies: { card: [showsCard((card) => withUrl(card, "http://["))] },
    right: { error: "no-interface", says: /http:\/\/\[/ },
  },
  {
    id: "card-with-a-password",
    sentence: "The URL on the card has a user name and a password.",
    speaks: HTTP,
    asks: "send",
    replies: {
      card: [
        showsCard((card, { origin }) =>
          withUrl(card, `${origin.replace("//", "//user:secret@")}/a2a`),
        ),
      ],
    },
    right: { error: "no-interface", says: /no interface/ },
    beyond: "nothing forbids such a URL",
  },
];
