import { ClientError, type ProtocolVersion, RemoteError } from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import type { WireHeaders } from "../wire/client.ts";
import { type Exchange, Failed, Skipped, Transcript } from "../wire/exchange.ts";
import { type HttpReply, requestHttp } from "../wire/http.ts";
import { at, listAt, parseJson, textAt } from "../wire/json.ts";
import type { CheckSettings } from "./settings.ts";

/** A card and the response that carried it. */
export interface FetchedCard {
  readonly json: JsonObject;
  readonly url: string;
  readonly headers: Headers;
  readonly exchange: Exchange;
}

/** Fetches the card of the agent at the address, which may also be that of the card itself. */
export async function findCard(settings: CheckSettings): Promise<FetchedCard> {
  const answers: string[] = [];
  for (const url of candidateUrls(new URL(settings.url))) {
    const { reply, exchange } = await fetchOnce(settings, url, { "a2a-version": "1.0" });
    const card = parseCard(reply, url, exchange);
    if (card !== undefined) return card;
    if (reply.status === 401 || reply.status === 403) {
      throw new RemoteError(`${url} answered ${reply.status}`, { httpStatus: reply.status });
    }
    const location = reply.headers.get("location");
    const rest =
      location === null
        ? "with something that is not a card"
        : `and redirects to ${location}; check that address instead`;
    answers.push(`${url} answered ${reply.status} ${rest}`);
  }
  throw new ClientError("no-card", `no agent card found: ${answers.join("; ")}`);
}

/** The same card for a caller that sends other headers; `undefined` if that caller gets no card. */
export async function fetchCardAs(
  settings: CheckSettings,
  url: string,
  headers: WireHeaders,
): Promise<FetchedCard | undefined> {
  const { reply, exchange } = await fetchOnce(settings, url, headers);
  return parseCard(reply, url, exchange);
}

/** The path of cards since 0.3, and the path before that. */
const WELL_KNOWN = "/.well-known/agent-card.json";

export function isWellKnown(url: string): boolean {
  return new URL(url).pathname.endsWith(WELL_KNOWN);
}

const OLD_WELL_KNOWN = "/.well-known/agent.json";

function candidateUrls(url: URL): readonly string[] {
  if (url.pathname.endsWith(".json")) return [url.href];
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  return [`${base}${WELL_KNOWN}`, `${base}${OLD_WELL_KNOWN}`];
}

async function fetchOnce(
  { credentials, timeoutMs, signal }: CheckSettings,
  url: string,
  headers: WireHeaders,
): Promise<{ readonly reply: HttpReply; readonly exchange: Exchange }> {
  const transcript = new Transcript();
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const reply = await requestHttp({
      method: "GET",
      url,
      headers: { accept: "application/json", ...credentials, ...headers },
      signal: AbortSignal.any([signal, limit]),
      transcript,
    });
    return { reply, exchange: transcript.last };
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.aborted && !(error instanceof Failed)) throw error;
    const timedOut = `no response within ${timeoutMs / 1000} s`;
    const why = limit.aborted ? timedOut : transcript.last.received;
    throw new ClientError("unreachable", `could not read ${url}: ${why}`, { cause: error });
  }
}

function parseCard(
  { status, headers, text }: HttpReply,
  url: string,
  exchange: Exchange,
): FetchedCard | undefined {
  const json = parseJson(text);
  return status === 200 && isObject(json) ? { json, url, headers, exchange } : undefined;
}

/** An extension as a card declares it. */
interface DeclaredExtension {
  readonly uri: string;
  readonly required: boolean;
}

/** What a card declares. The fields of 0.3 and 1.0 do not collide, so a card may have either form or both. */
export class CardView {
  readonly json: JsonObject;

  constructor(json: JsonObject) {
    this.json = json;
  }

  get streaming(): boolean {
    return at(this.json, "capabilities", "streaming") === true;
  }

  get pushNotifications(): boolean {
    return at(this.json, "capabilities", "pushNotifications") === true;
  }

  get extendedCard(): boolean {
    return (
      this.json["supportsAuthenticatedExtendedCard"] === true ||
      at(this.json, "capabilities", "extendedAgentCard") === true
    );
  }

  get extensions(): readonly DeclaredExtension[] {
    return listAt(this.json, "capabilities", "extensions")
      .filter(isObject)
      .map((entry) => ({ uri: textAt(entry, "uri"), required: entry["required"] === true }))
      .filter(({ uri }) => uri !== "");
  }

  /** Whether callers must authenticate: every alternative requires at least one scheme. */
  get requiresCredentials(): boolean {
    const current = listAt(this.json, "securityRequirements");
    const alternatives = current.length > 0 ? current : listAt(this.json, "security");
    return alternatives.length > 0 && alternatives.every((each) => countSchemes(each) > 0);
  }

  /** The messages that the skills of the agent name as examples. */
  get examples(): readonly string[] {
    const examples = listAt(this.json, "skills").flatMap((skill) => listAt(skill, "examples"));
    return [...new Set(examples.filter((example) => typeof example === "string"))];
  }

  /** The media types that the agent and its skills accept. */
  get inputModes(): readonly string[] {
    const skills = listAt(this.json, "skills").flatMap((skill) => listAt(skill, "inputModes"));
    return [...listAt(this.json, "defaultInputModes"), ...skills].map(String);
  }
}

function countSchemes(alternative: unknown): number {
  const schemes = at(alternative, "schemes") ?? alternative;
  return isObject(schemes) ? Object.keys(schemes).length : 0;
}

/** The header that names extensions; it lost its X in 1.0 (§3.2.6). */
export function extensionHeader(version: ProtocolVersion): string {
  return version === "1.0" ? "a2a-extensions" : "x-a2a-extensions";
}

/** Activates the extensions that the agent requires; it would reject every request otherwise. */
export function requiredExtensionHeaders(card: CardView, version: ProtocolVersion): WireHeaders {
  const uris = card.extensions.filter(({ required }) => required).map(({ uri }) => uri);
  return uris.length === 0 ? {} : { [extensionHeader(version)]: uris.join(",") };
}

/** The card as served to callers that name version 1.0, and to callers that name none. */
export interface Cards {
  readonly current: FetchedCard;
  readonly plain: FetchedCard | undefined;
}

/** The card in the form of that version, as a client of the version would fetch it. */
export function cardForVersion(
  { current, plain }: Cards,
  version: ProtocolVersion,
): FetchedCard | undefined {
  const hasForm = version === "1.0" ? isV1 : isV03;
  const order = version === "1.0" ? [current, plain] : [plain, current];
  return order.find((card) => card !== undefined && hasForm(card.json));
}

function isV1(card: JsonObject): boolean {
  return Array.isArray(card["supportedInterfaces"]);
}

function isV03(card: JsonObject): boolean {
  return typeof card["url"] === "string";
}

/** What a probe of the card works with. */
export class CardScene {
  readonly cards: Cards;
  readonly settings: CheckSettings;
  readonly transcript: Transcript;
  readonly #signal: AbortSignal;

  constructor(
    cards: Cards,
    settings: CheckSettings,
    { signal, transcript }: { readonly signal: AbortSignal; readonly transcript: Transcript },
  ) {
    this.cards = cards;
    this.settings = settings;
    this.transcript = transcript;
    this.#signal = signal;
  }

  /** The card in the form of that version; skips the probe if there is none. */
  cardForVersion(version: ProtocolVersion): FetchedCard {
    const card = cardForVersion(this.cards, version);
    if (card === undefined) throw new Skipped(`the card has no ${version} form`);
    return card;
  }

  /** Fails about a card that was fetched before the probe started. */
  expect(isGood: boolean, expected: string, exchange: Exchange): void {
    if (!isGood) throw new Failed(expected, exchange);
  }

  /** Fetches something from the origin of the card. */
  get(url: string, headers: WireHeaders = {}): Promise<HttpReply> {
    return requestHttp({
      method: "GET",
      url,
      headers: { ...this.settings.credentials, "a2a-version": "1.0", ...headers },
      signal: this.#signal,
      transcript: this.transcript,
    });
  }
}
