import { OPERATIONS } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type Call,
  type ErrorResponse,
  type OpenStream,
  type StreamItem,
  type WireClient,
  type WireResponse,
  type WireSession,
  requestHeaders,
  withTenant,
} from "./client.ts";
import { authReason, parseRpcError } from "./errors.ts";
import { Failed } from "./exchange.ts";
import {
  type HttpReply,
  type HttpRequest,
  type OpenReply,
  isSse,
  openHttp,
  readReply,
  requestHttp,
  sseEvents,
  toRecord,
} from "./http.ts";
import { at, parseJson } from "./json.ts";

/** The id of every request. A response with another id answers something else. */
export const REQUEST_ID = "convoke-check";

/**
 * A raw JSON-RPC client. It does not check the envelope around results and errors: probes of their
 * own do, so that one mistake there is not reported again by every other probe.
 */
export class JsonRpcClient implements WireClient {
  readonly binding = "jsonrpc";
  readonly version;
  readonly #session: WireSession;

  constructor(session: WireSession) {
    this.#session = session;
    this.version = session.target.version;
  }

  async call(call: Call): Promise<WireResponse> {
    return this.#parse(await this.post(JSON.stringify(this.#toRequest(call)), call));
  }

  async open(call: Call): Promise<OpenStream | ErrorResponse> {
    const { transcript } = this.#session;
    const body = JSON.stringify(this.#toRequest(call));
    const reply = await openHttp(this.#toHttp(body, call));
    if (isSse(reply)) {
      transcript.recordReceived(`${reply.status} text/event-stream`);
      return { kind: "stream", headers: toRecord(reply.headers), events: readEvents(reply) };
    }
    const response = this.#parse(await readReply(reply, transcript));
    if (response.kind === "error") return response;
    throw new Failed("a stream (text/event-stream)", response.exchange);
  }

  /** Posts any text, valid or not. */
  post(body: string, call: Pick<Call, "headers" | "query"> = {}): Promise<HttpReply> {
    return requestHttp(this.#toHttp(body, call));
  }

  #toHttp(body: string, call: Pick<Call, "headers" | "query">): HttpRequest {
    const { target, signal, transcript } = this.#session;
    const url = new URL(target.url);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
    return {
      method: "POST",
      url: url.href,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...requestHeaders(target, call),
      },
      body,
      signal,
      transcript,
    };
  }

  #toRequest({ operation, params }: Call): object {
    const { method, methods03 } = OPERATIONS[operation];
    return {
      jsonrpc: "2.0",
      id: REQUEST_ID,
      method: this.version === "1.0" ? method : (methods03[0] ?? "tasks/list"),
      params: withTenant(params, this.#session.target.tenant),
    };
  }

  #parse({ status, headers, text }: HttpReply): WireResponse {
    const body = parseJson(text);
    const exchange = this.#session.transcript.last;
    const facts = { headers: toRecord(headers), body, exchange };
    const error = at(body, "error");
    if (authReason(status) !== undefined || isObject(error)) {
      return { kind: "error", error: parseRpcError(error, status), ...facts };
    }
    if (isObject(body) && Object.hasOwn(body, "result")) {
      return { kind: "result", result: body["result"], ...facts };
    }
    throw new Failed("a JSON-RPC 2.0 response with a result or an error", exchange);
  }
}

async function* readEvents(reply: OpenReply): AsyncGenerator<StreamItem, void> {
  for await (const { id, data } of sseEvents(reply)) {
    const envelope = parseJson(data) ?? data;
    const error = at(envelope, "error");
    const json = at(envelope, "result");
    yield { id, json, envelope, ...(isObject(error) && { error: parseRpcError(error) }) };
  }
}
