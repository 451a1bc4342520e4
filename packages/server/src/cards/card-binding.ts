import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type AgentCardFacts,
  type AgentInfo,
  type CardKey,
  type ProtocolVersion,
  buildCard,
  publicKeySet,
  signCard,
} from "@convoke/protocol";
import { type HttpRequest, type HttpResponse, header } from "../http/exchange.ts";
import { requestedVersion } from "../http/requested-version.ts";
import { jsonResponse } from "../http/json-response.ts";

/** Where cards live: today's path, and that of A2A before 0.3. */
export const CARD_PATHS: ReadonlySet<string> = new Set([
  "/.well-known/agent-card.json",
  "/.well-known/agent.json",
]);

/** Where the keys are that cards are signed with. */
export const KEYS_PATH = "/.well-known/jwks.json";

/** Callers may name any port in their Host, so the number of addresses has no end. */
const MAX_BUILT = 64;

/** Which card is shown: the one asked for, one that both versions read, or always the same. */
export type CardForm = "negotiated" | "hybrid" | "v1" | "v03";

export interface CardOptions {
  readonly form?: CardForm;
  /** Signs every card of 1.0, and the 1.0 part of a hybrid. */
  readonly keys?: readonly CardKey[];
}

interface Built {
  readonly text: string;
  readonly etag: string;
}

/** The card as long as the agent says the same of itself. */
interface Edition {
  readonly info: AgentInfo;
  readonly date: string;
  /** Whether the one before has the same date, which counts in seconds: then it tells nothing. */
  readonly isDateShared: boolean;
  readonly built: Map<string, Promise<Built>>;
}

/**
 * The agent's card, in the form the caller asks for: 1.0, 0.3, or a hybrid when
 * it names no version. Each form is built and signed once per address, until the
 * agent says something else of itself.
 */
export class CardBinding {
  readonly #facts: (request: HttpRequest) => AgentCardFacts;
  readonly #form: CardForm;
  readonly #keys: readonly CardKey[];
  readonly #firstDate = new Date().toUTCString();
  #edition: Edition | undefined;

  constructor(facts: (request: HttpRequest) => AgentCardFacts, options: CardOptions = {}) {
    this.#facts = facts;
    this.#form = options.form ?? "negotiated";
    this.#keys = options.keys ?? [];
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const facts = this.#facts(request);
    const edition = this.#editionOf(facts.info);
    const { text, etag } = await this.#build(edition, facts, this.#version(request));
    const headers = {
      etag,
      "last-modified": edition.date,
      vary: "A2A-Version",
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    };
    if (isKnown(request, etag, edition)) return { status: 304, headers, body: "" };
    return jsonResponse(200, text, headers);
  }

  /** The public keys that verify the card. */
  keySet(): HttpResponse {
    return jsonResponse(200, JSON.stringify(publicKeySet(this.#keys)), {
      "cache-control": "public, max-age=300",
      "access-control-allow-origin": "*",
    });
  }

  #version(request: HttpRequest): ProtocolVersion | undefined {
    switch (this.#form) {
      case "negotiated":
        return requestedVersion(request);
      case "hybrid":
        return undefined;
      case "v1":
        return "1.0";
      case "v03":
        return "0.3";
      default:
        return this.#form satisfies never;
    }
  }

  #editionOf(info: AgentInfo): Edition {
    const last = this.#edition;
    if (last?.info === info) return last;
    // An agent may make the same words anew for each who asks.
    if (last !== undefined && isDeepStrictEqual(last.info, info)) return last;
    const date = last === undefined ? this.#firstDate : new Date().toUTCString();
    this.#edition = { info, date, isDateShared: date === last?.date, built: new Map() };
    return this.#edition;
  }

  #build(
    { built }: Edition,
    facts: AgentCardFacts,
    version: ProtocolVersion | undefined,
  ): Promise<Built> {
    const key = `${version ?? "hybrid"} ${facts.interfaces[0]?.url}`;
    const known = built.get(key);
    if (known !== undefined) return known;
    if (built.size >= MAX_BUILT) built.clear();
    const writing = this.#write(facts, version);
    built.set(key, writing);
    return writing;
  }

  async #write(facts: AgentCardFacts, version: ProtocolVersion | undefined): Promise<Built> {
    const card = buildCard(facts, version);
    // 0.3 has a place for signatures and no word on what they sign.
    const isSigned = this.#keys.length > 0 && version !== "0.3";
    const text = JSON.stringify(isSigned ? await signCard(card, this.#keys) : card);
    return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
  }
}

/** A tag counts before a date, which says less (RFC 9110 §13.2.2). */
function isKnown(request: HttpRequest, etag: string, { date, isDateShared }: Edition): boolean {
  const tags = header(request, "if-none-match");
  if (tags !== undefined) return hasTag(tags, etag);
  const since = Date.parse(header(request, "if-modified-since") ?? "");
  return !isDateShared && since >= Date.parse(date);
}

/** A proxy may have made the tag weak or put it into a list (RFC 9110 §13.1.2). */
function hasTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
