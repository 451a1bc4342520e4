import type { RawCard } from "@convoke/protocol";
import { isObject, oneLine } from "@convoke/protocol/internal";
import type { Findings } from "./diagnoses.ts";
import { DoctorRequests, type Reply, describeError, networkDiagnosis } from "./requests.ts";

export interface FoundCard {
  readonly card: RawCard;
  readonly url: string;
}

export interface FindCardOptions {
  /** A card that takes longer is slow, in milliseconds. */
  readonly slowCardMs: number;
}

/** Finds the card of the agent, and says what is wrong with its place and its transport. */
export async function findCard(
  findings: Findings,
  requests: DoctorRequests,
  { slowCardMs }: FindCardOptions,
): Promise<FoundCard | undefined> {
  const answers: string[] = [];
  let notJson: string | undefined;
  for (const { url, kind } of candidates(new URL(requests.options.url))) {
    findings.step(`reading ${url}`);
    const reply = await fetchCard(findings, requests, url);
    if (reply === undefined) return undefined;
    const card = parseCard(reply);
    if (card !== undefined) {
      checkPlace(findings, kind, url);
      checkTransport(findings, url, reply, slowCardMs);
      return { card, url };
    }
    if (reply.status === 401 || reply.status === 403) {
      findings.diagnose("card-needs-auth", url, `it answered ${reply.status}`);
      return undefined;
    }
    if (reply.status === 200) notJson ??= url;
    answers.push(`${new URL(url).pathname} answered ${reply.status}`);
  }
  if (notJson === undefined) {
    findings.diagnose("card-missing", requests.options.url, answers.join("; "));
  } else {
    findings.diagnose("card-not-json", notJson, "it answered 200 with something that is no JSON");
  }
  return undefined;
}

/** Where a card was found, compared with where clients look for it. */
type Place = "expected" | "old" | "prefix";

interface Candidate {
  readonly url: string;
  readonly kind: Place;
}

const WELL_KNOWN = "/.well-known/agent-card.json";

const OLD_WELL_KNOWN = "/.well-known/agent.json";

/** Prefixes that frameworks and gateways put in front of an agent. */
const PREFIXES = ["/a2a", "/api/a2a", "/api", "/agent", "/v1"];

/** Where to look, the best place first. Clients also try the root of the origin. */
function candidates({ origin, pathname, href }: URL): readonly Candidate[] {
  if (pathname.endsWith(".json")) return [{ url: href, kind: "expected" }];
  const bases = [...new Set([`${origin}${pathname.replace(/\/+$/, "")}`, origin])];
  const all: readonly Candidate[] = [
    ...bases.map((base) => ({ url: `${base}${WELL_KNOWN}`, kind: "expected" as const })),
    ...bases.map((base) => ({ url: `${base}${OLD_WELL_KNOWN}`, kind: "old" as const })),
    ...PREFIXES.map((prefix) => ({
      url: `${origin}${prefix}${WELL_KNOWN}`,
      kind: "prefix" as const,
    })),
  ];
  return all.filter(({ url }, place) => all.findIndex((other) => other.url === url) === place);
}

/** The response, after redirects within the origin; `undefined` if the failure was diagnosed. */
async function fetchCard(
  findings: Findings,
  requests: DoctorRequests,
  url: string,
): Promise<Reply | undefined> {
  let reply: Reply;
  try {
    reply = await requests.send(cardCall(url));
    const target = redirectTarget(reply, url);
    if (target === undefined) return reply;
    if (new URL(target).origin === new URL(url).origin)
      return await requests.send(cardCall(target));
    const isUpgrade = target.startsWith("https:") && url.startsWith("http:");
    const id = isUpgrade && hasSameName(target, url) ? "http-for-https" : "card-redirected";
    findings.diagnose(id, url, `it answered ${reply.status} and redirects to ${oneLine(target)}`);
  } catch (error) {
    requests.options.signal.throwIfAborted();
    await diagnoseFailure(findings, requests, url, error);
  }
  return undefined;
}

function cardCall(url: string) {
  return { url, headers: { accept: "application/json", "a2a-version": "1.0" } };
}

/** Where a redirect leads. */
export function redirectTarget({ status, headers }: Reply, url: string): string | undefined {
  const { location } = headers;
  if (status < 300 || status > 399 || location === undefined) return undefined;
  return URL.canParse(location, url) ? new URL(location, url).href : undefined;
}

function hasSameName(one: string, other: string): boolean {
  return new URL(one).hostname === new URL(other).hostname;
}

async function diagnoseFailure(
  findings: Findings,
  requests: DoctorRequests,
  url: string,
  error: unknown,
): Promise<void> {
  if ((error as { readonly kind?: string }).kind === "unreadable") {
    findings.diagnose("card-too-large", url, describeError(error));
    return;
  }
  const id = networkDiagnosis(error) ?? "connection-refused";
  const isPlain = url.startsWith("http:") && (id === "connection-reset" || id === "not-http");
  const speaksTls = isPlain && (await canSpeakTls(requests, url));
  findings.diagnose(speaksTls ? "http-for-https" : id, new URL(url).origin, describeError(error));
}

/** Whether the same address speaks TLS, with whatever certificate. Sends no credentials: they are for http. */
async function canSpeakTls({ options }: DoctorRequests, plainUrl: string): Promise<boolean> {
  const url = plainUrl.replace(/^http:/, "https:");
  try {
    await new DoctorRequests({ ...options, url, credentials: {} }).send({ url });
    return true;
  } catch (error) {
    return networkDiagnosis(error)?.startsWith("tls-") === true;
  }
}

function parseCard({ status, text }: Reply): RawCard | undefined {
  if (status !== 200) return undefined;
  try {
    const card = JSON.parse(text) as unknown;
    return isObject(card) ? card : undefined;
  } catch {
    return undefined;
  }
}

function checkPlace(findings: Findings, kind: Place, url: string): void {
  if (kind === "old") findings.diagnose("card-old-path", url, "the card is only at this old path");
  if (kind === "prefix") findings.diagnose("card-other-path", url, "the card is only found here");
  if (kind === "expected") findings.pass(`The card is at ${url}`);
}

/** Longer than any round trip, and shorter than what tokens tolerate. */
const MAX_SKEW_MS = 60_000;

function checkTransport(findings: Findings, url: string, reply: Reply, slowCardMs: number): void {
  const { "content-type": type = "", date = "" } = reply.headers;
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
    findings.diagnose("card-content-type", url, `its Content-Type is ${oneLine(type) || "absent"}`);
  }
  if (reply.ms > slowCardMs) {
    findings.diagnose("card-slow", url, `it took ${(reply.ms / 1000).toFixed(1)} s`);
  }
  const skewMs = Date.parse(date) - Date.now();
  if (Math.abs(skewMs) > MAX_SKEW_MS + reply.ms) {
    const direction = skewMs > 0 ? "ahead of" : "behind";
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    const seen = `its clock (Date header) is ${seconds} s ${direction} the clock of this machine`;
    findings.diagnose("clock-skew", new URL(url).origin, seen);
  } else if (!Number.isNaN(skewMs))
    findings.pass("Its clock agrees with the clock of this machine");
}
