import { Failed } from "../verdict.ts";
import type { Answer, Call, Conversation, Opened, Refused, Speaker, StreamItem } from "./call.ts";
import { headersOf, recordOf } from "./headers.ts";
import { type HttpReply, type OpenReply, openHttp, requestHttp, wholeOf } from "./http.ts";
import { at, isObject, listAt, parseJson, textAt } from "./json.ts";
import { type RestPlace, restPlace } from "./rest-place.ts";
import { isSse, sseEvents } from "./sse.ts";
import { isTransport, jsonRpcError, reasonInDetails, type WireError } from "./wire-error.ts";

/** Speaks REST. */
export class RestSpeaker implements Speaker {
  readonly binding = "rest";
  readonly version;
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
    this.version = conversation.target.version;
  }

  async call(call: Call): Promise<Answer> {
    const place = this.#placeOf(call);
    const answer = this.#answer(await this.request(place, call));
    // The text of 0.3 wants the config below a name, and its proto wants it bare: either will do.
    const isOther = this.version === "0.3" && call.operation === "createPushConfig";
    if (answer.kind === "served" || !isOther || answer.error.http !== 400) return answer;
    return this.#answer(await this.request({ ...place, body: call.params }, call));
  }

  async open(call: Call): Promise<Opened | Refused> {
    const place = this.#placeOf(call);
    const opened = await this.#open(place, call);
    // The text of both versions says POST and their protos say GET: a server may know either.
    const isElsewhere = call.operation === "subscribeToTask" && opened.kind === "refused";
    if (!isElsewhere || ![404, 405].includes(opened.error.http ?? 0)) return opened;
    if (opened.error.reason !== undefined) return opened;
    return this.#open({ method: "GET", path: place.path }, call);
  }

  /** Asks for any path at all. */
  request(place: RestPlace, call: Pick<Call, "headers" | "query"> = {}): Promise<HttpReply> {
    return requestHttp(this.#httpOf(place, call));
  }

  async #open(place: RestPlace, call: Call): Promise<Opened | Refused> {
    const { transcript } = this.#conversation;
    const reply = await openHttp(this.#httpOf(place, call));
    if (isSse(reply) && reply.status < 300) {
      transcript.heard(`${reply.status} text/event-stream`);
      return { kind: "opened", headers: recordOf(reply.headers), events: itemsOf(reply) };
    }
    const answer = this.#answer(await wholeOf(reply, transcript));
    if (answer.kind === "refused") return answer;
    throw new Failed("a stream (text/event-stream)", answer.exchange);
  }

  #placeOf({ operation, params }: Call): RestPlace {
    const { tenant } = this.#conversation.target;
    const place = restPlace(this.version, operation, params);
    if (tenant === "") return place;
    return { ...place, path: `/${encodeURIComponent(tenant)}${place.path}` };
  }

  #httpOf({ method, path, query, body }: RestPlace, call: Pick<Call, "headers" | "query">) {
    const { target, signal, transcript } = this.#conversation;
    const base = new URL(target.url);
    const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, "")}${path}`);
    for (const [name, value] of Object.entries({ ...query, ...call.query })) {
      url.searchParams.set(name, String(value));
    }
    const type = this.version === "1.0" ? "application/a2a+json" : "application/json";
    return {
      method,
      url: url.href,
      headers: {
        ...(body !== undefined && { "content-type": type }),
        ...headersOf(target, call),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal,
      transcript,
    };
  }

  #answer({ status, headers, text }: HttpReply): Answer {
    const body = parseJson(text);
    const exchange = this.#conversation.transcript.last;
    const around = { headers: recordOf(headers), body, exchange };
    if (status >= 200 && status < 300) {
      if (text !== "" && body === undefined) throw new Failed("a JSON body", exchange);
      return { kind: "served", result: text === "" ? {} : body, ...around };
    }
    if (status < 400) throw new Failed("an answer at this address, not a redirect", exchange);
    return { kind: "refused", error: restError(body, status), ...around };
  }
}

async function* itemsOf(reply: OpenReply): AsyncGenerator<StreamItem, void> {
  for await (const { event, data } of sseEvents(reply)) {
    const envelope = parseJson(data) ?? data;
    const isError = event === "error" || (isObject(envelope) && isObject(envelope["error"]));
    yield { json: envelope, envelope, ...(isError && { error: restError(envelope, undefined) }) };
  }
}

/** A google.rpc.Status in 1.0 (§11.6); in 0.3 the error of JSON-RPC without its envelope. */
function restError(body: unknown, http: number | undefined): WireError {
  const status = at(body, "error");
  if (!isObject(status)) return jsonRpcError(body, http);
  const details = listAt(status, "details");
  return {
    message: textAt(status, "message"),
    reason: isTransport(http) ?? reasonInDetails(details),
    ...(http !== undefined && { http }),
    details,
  };
}
