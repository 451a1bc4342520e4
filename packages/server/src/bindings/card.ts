import { createHash } from "node:crypto";
import { type AgentCardFacts, type ProtocolVersion, buildCard } from "@convoke/protocol";
import { type HttpRequest, type HttpResponse, header } from "../http/exchange.ts";
import { requestedVersion } from "../http/requested-version.ts";
import { jsonResponse } from "../http/json-response.ts";

/** Where cards live: today's path, and that of A2A before 0.3. */
export const CARD_PATHS: ReadonlySet<string> = new Set([
  "/.well-known/agent-card.json",
  "/.well-known/agent.json",
]);

/** Callers may name any port in their Host, so the number of addresses has no end. */
const MAX_BUILT = 64;

interface Built {
  readonly text: string;
  readonly etag: string;
}

/**
 * The agent's card, in the form the caller asks for: 1.0, 0.3, or a hybrid when
 * it names no version. Each form is built once per address.
 */
export class CardBinding {
  #facts: (request: HttpRequest) => AgentCardFacts;
  #built = new Map<string, Built>();

  constructor(facts: (request: HttpRequest) => AgentCardFacts) {
    this.#facts = facts;
  }

  handle(request: HttpRequest): HttpResponse {
    const version = requestedVersion(request);
    const { text, etag } = this.#build(this.#facts(request), version);
    const headers = {
      etag,
      vary: "A2A-Version",
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    };
    if (hasTag(header(request, "if-none-match"), etag)) return { status: 304, headers, body: "" };
    return jsonResponse(200, text, headers);
  }

  #build(facts: AgentCardFacts, version: ProtocolVersion | undefined): Built {
    const key = `${version ?? "hybrid"} ${facts.interfaces[0]?.url}`;
    const known = this.#built.get(key);
    if (known !== undefined) return known;
    const text = JSON.stringify(buildCard(facts, version));
    if (this.#built.size >= MAX_BUILT) this.#built.clear();
    const built = { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
    this.#built.set(key, built);
    return built;
  }
}

/** A proxy may have made the tag weak or put it into a list (RFC 9110 §13.1.2). */
function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag) === true;
}
