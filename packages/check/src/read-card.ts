import { ClientError, RemoteError } from "@convoke/protocol";
import type { CheckSettings } from "./settings.ts";
import { type Exchange, Failed } from "./verdict.ts";
import type { WireHeaders } from "./wire/call.ts";
import { type HttpReply, requestHttp } from "./wire/http.ts";
import { type JsonObject, isObject, parseJson } from "./wire/json.ts";
import { Transcript } from "./wire/transcript.ts";

/** A card, and how it came. */
export interface FoundCard {
  readonly json: JsonObject;
  readonly url: string;
  readonly headers: Headers;
  readonly exchange: Exchange;
}

/** Where cards are since 0.3, and where they were before. */
const WELL_KNOWN = "/.well-known/agent-card.json";
const EARLIER = "/.well-known/agent.json";

/** Reads the card at the address, which is that of the agent or of the card itself. */
export async function findCard(settings: CheckSettings): Promise<FoundCard> {
  const answers: string[] = [];
  for (const url of placesOf(new URL(settings.url))) {
    const { reply, exchange } = await ask(settings, url, { "a2a-version": "1.0" });
    const found = cardIn(reply, url, exchange);
    if (found !== undefined) return found;
    if (reply.status === 401 || reply.status === 403) {
      throw new RemoteError(`${url} answered ${reply.status}`, { httpStatus: reply.status });
    }
    const location = reply.headers.get("location");
    const instead = location === null ? "" : ` and leads to ${location}; check that address itself`;
    answers.push(`${url} answered ${reply.status}${instead || " with something that is no card"}`);
  }
  throw new ClientError("no-card", `no agent card found: ${answers.join("; ")}`);
}

/** The same card for somebody who names another version, or none; `undefined` if they get none. */
export async function cardFor(
  settings: CheckSettings,
  url: string,
  headers: WireHeaders,
): Promise<FoundCard | undefined> {
  const { reply, exchange } = await ask(settings, url, headers);
  return cardIn(reply, url, exchange);
}

export function isWellKnown(url: string): boolean {
  return new URL(url).pathname.endsWith(WELL_KNOWN);
}

function placesOf(url: URL): readonly string[] {
  if (url.pathname.endsWith(".json")) return [url.href];
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  return [`${base}${WELL_KNOWN}`, `${base}${EARLIER}`];
}

async function ask(
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
    const why = limit.aborted ? `no answer within ${timeoutMs / 1000} s` : transcript.last.received;
    throw new ClientError("unreachable", `could not read ${url}: ${why}`, { cause: error });
  }
}

function cardIn(
  { status, headers, text }: HttpReply,
  url: string,
  exchange: Exchange,
): FoundCard | undefined {
  const json = parseJson(text);
  return status === 200 && isObject(json) ? { json, url, headers, exchange } : undefined;
}
