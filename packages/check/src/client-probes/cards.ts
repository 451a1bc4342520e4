import { gzipSync } from "node:zlib";
import type { AgentCardFacts } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { must, should } from "../probes/probe.ts";
import { type ProbePlace, type RawAnswer, raw, sends, streams } from "../probe-server/answer.ts";
import { type Card, TOKEN, cardFor, interfaceAt } from "../probe-server/honest-agent.ts";
import { ANSWER_TEXT, DONE } from "../probe-server/scripted-agent.ts";
import type { SeenRequest } from "../probe-server/seen-request.ts";
import type { Visit } from "../probe-server/visit.ts";
import { JSON_BINDINGS } from "../wire/client.ts";
import { listAt } from "../wire/json.ts";
import { type ClientProbe, V03, V1 } from "./client-probe.ts";
import { require, requireEnd, requireError, requireMessages, requireText } from "./judging.ts";

/** How a client chooses among the interfaces of a card. */
export const INTERFACES: readonly ClientProbe[] = [
  {
    name: "preference",
    says: "Uses the first interface that it can.",
    claims: [must(V1, "§8.3.2"), should(V03, "§5.6.3")],
    bindings: JSON_BINDINGS,
    action: "send",
    card: (place) =>
      cardFor(place, {
        interfaces: [interfaceAt(place), interfaceAt(place, `${place.base}/second`)],
      }),
    judge: (visit) => {
      const [call] = requireMessages(visit);
      require(call?.path.startsWith("/second") === false, "the first interface", visit, call);
    },
  },
  {
    name: "unknown-binding",
    says: "Skips an interface whose binding it does not know.",
    claims: [must(V1, "§8.3.2"), must(V03, "§5.6.3")],
    action: "send",
    card: (place) => withFirst(place, { binding: "CARRIER-PIGEON" }),
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "unknown-version",
    says: "Skips an interface of a version that it does not know.",
    claims: [must(V1, "§8.3.2")],
    action: "send",
    card: (place) => withFirst(place, { version: "9.9" }),
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "script-url",
    says: "Rejects an interface whose URL is not one of the web.",
    claims: [must(V1, "§5.2, §13.4"), must(V03, "§3.1")],
    bindings: JSON_BINDINGS,
    action: "send",
    card: (place) => withUrl(place, "javascript:alert(1)"),
    judge: requireError,
  },
  {
    name: "file-url",
    says: "Rejects an interface that is a file.",
    claims: [must(V1, "§5.2, §13.4"), must(V03, "§3.1")],
    bindings: JSON_BINDINGS,
    action: "send",
    card: (place) => withUrl(place, "file:///etc/passwd"),
    judge: requireError,
  },
];

/** The card with another interface before the real one. */
function withFirst(
  place: ProbePlace,
  odd: { readonly binding?: string; readonly version?: string },
): Card {
  const real = interfaceAt(place);
  // On purpose not one of the values that the model knows.
  const first = { ...real, url: `${place.base}/odd`, ...odd } as typeof real;
  return cardFor(place, { interfaces: [first, real] });
}

function withUrl(place: ProbePlace, url: string): Card {
  const only: AgentCardFacts["interfaces"][number] = { ...interfaceAt(place), url };
  return cardFor(place, { interfaces: [only] });
}

/** Cards in unusual forms, and responses that are not cards. */
export const CARD_FORMS: readonly ClientProbe[] = [
  {
    name: "card-unknown-fields",
    says: "Ignores fields of a card that it does not know.",
    claims: [should(V1, "§5.7"), should(V03, "§5.5")],
    action: "send",
    card: (place) => {
      const card = cardFor(place);
      const capabilities = isObject(card["capabilities"]) ? card["capabilities"] : {};
      return {
        ...card,
        novelty: { a: [1] },
        capabilities: { ...capabilities, telepathy: true },
        skills: listAt(card, "skills").map((skill) => ({ ...(skill as object), novelty: 1 })),
      };
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "card-charset",
    says: "Accepts a charset in the media type of a card.",
    claims: [must(V1, "§8.2"), must(V03, "§5.3")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: {
      card: (_, place) =>
        raw(200, JSON.stringify(cardFor(place)), "application/json; charset=utf-8"),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "card-moved",
    says: "Follows the redirect of a card that has moved.",
    claims: [should(V1, "§8.2"), should(V03, "§5.3")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: {
      card: ({ path }, place) =>
        path.startsWith("/moved")
          ? raw(200, JSON.stringify(cardFor(place)))
          : redirect(302, `${place.base}/moved/agent-card.json`),
    },
    judge: (visit) => requireText(visit, ANSWER_TEXT),
  },
  {
    name: "card-page",
    says: "Reports an error if a web page is served instead of the card.",
    claims: [must(V1, "§8.2"), must(V03, "§5.3")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: { card: () => raw(200, "<!DOCTYPE html><p>Welcome</p>", "text/html") },
    judge: requireError,
  },
  {
    name: "card-missing",
    says: "Reports an error if there is no card.",
    claims: [must(V1, "§8.2"), must(V03, "§5.3")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: { card: () => raw(404, "Not found", "text/plain") },
    judge: requireError,
  },
  {
    name: "card-endless",
    says: "Stops reading a card that never ends.",
    claims: [should(V1, "§13.4"), should(V03, "§10.1")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: {
      card: () => ({
        kind: "raw",
        status: 200,
        headers: { "content-type": "application/json" },
        body: endless(),
        ending: "open",
      }),
    },
    judge: requireError,
  },
  {
    name: "card-bomb",
    says: "Survives a compressed card that is huge when it is unpacked, or accepts no compression.",
    claims: [should(V1, "§13.4"), should(V03, "§10.1")],
    bindings: ["jsonrpc"],
    action: "send",
    replies: {
      card: ({ headers }, place) =>
        /gzip/.test(headers["accept-encoding"] ?? "")
          ? bomb()
          : raw(200, JSON.stringify(cardFor(place))),
    },
    judge: (visit) => {
      requireEnd(visit);
      const isUnpacked = visit.requests.some(({ headers }) =>
        /gzip/.test(headers["accept-encoding"] ?? ""),
      );
      if (isUnpacked) requireError(visit);
    },
  },
];

/** A megabyte of blanks, which JSON allows anywhere. */
const BLANKS = " ".repeat(1024 * 1024);

/** A client without a limit of its own must not use up the memory of the machine. */
const MAX_MEGABYTES = 64;

function* endless(): Generator<string, void> {
  yield '{"name":';
  for (let count = 0; count < MAX_MEGABYTES; count += 1) yield BLANKS;
}

/** The packed form of many megabytes. A gzip file may consist of several parts (RFC 1952 §2.2). */
function bomb(): RawAnswer {
  const part = gzipSync(BLANKS);
  return {
    kind: "raw",
    status: 200,
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
    body: [gzipSync("{"), ...Array.from({ length: MAX_MEGABYTES }, () => part)],
  };
}

function redirect(status: number, location: string): RawAnswer {
  return { kind: "raw", status, headers: { location } };
}

/** Whether a client keeps its credentials to the origin that they are for. */
export const OTHER_ORIGINS: readonly ClientProbe[] = [
  {
    name: "foreign-interface",
    says: "Does not send its token to another origin because a card leads there.",
    claims: [should(V1, "§13.4"), should(V03, "§10.2")],
    bindings: JSON_BINDINGS,
    action: "send",
    needsToken: true,
    card: (place) =>
      cardFor(place, { isSecured: true, interfaces: [interfaceAt(place, place.foreign)] }),
    judge: keepsToken,
  },
  {
    name: "foreign-redirect",
    says: "Does not send its token to another origin because a response redirects there.",
    claims: [must(V1, "§13.4"), must(V03, "§10.2")],
    bindings: JSON_BINDINGS,
    action: "send",
    needsToken: true,
    card: (place) => cardFor(place, { isSecured: true }),
    replies: {
      sendMessage: (request, place) => (request.isForeign ? sends(DONE) : leave(request, place)),
      sendStreamingMessage: (request, place) =>
        request.isForeign ? streams([DONE]) : leave(request, place),
    },
    judge: keepsToken,
  },
  {
    name: "foreign-card",
    says: "Does not send its token to another origin because the card has moved there.",
    claims: [must(V1, "§13.4"), must(V03, "§10.2")],
    bindings: ["jsonrpc"],
    action: "send",
    needsToken: true,
    replies: {
      card: (request, place) =>
        request.isForeign
          ? raw(200, JSON.stringify(cardFor(place, { isSecured: true })))
          : leave(request, place),
    },
    judge: keepsToken,
  },
];

/** Redirects to the same path at the other origin, with the same method. */
function leave({ path }: SeenRequest, { foreign }: ProbePlace): RawAnswer {
  return redirect(307, `${foreign}${path}`);
}

/** The client may call the other origin without the token, or not at all. */
function keepsToken(visit: Visit): void {
  requireEnd(visit);
  const leak = visit.requests.find(
    ({ isForeign, headers, body, query }) =>
      isForeign && JSON.stringify([headers, body, query]).includes(TOKEN),
  );
  require(leak === undefined, "no token at the other origin", visit, leak);
}
