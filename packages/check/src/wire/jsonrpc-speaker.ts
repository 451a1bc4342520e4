import { OPERATIONS } from "@convoke/protocol";
import { Failed } from "../verdict.ts";
import type { Answer, Call, Conversation, Opened, Refused, Speaker, StreamItem } from "./call.ts";
import { headersOf, recordOf } from "./headers.ts";
import { type HttpReply, type OpenReply, openHttp, requestHttp, wholeOf } from "./http.ts";
import { at, isObject, parseJson } from "./json.ts";
import { isSse, sseEvents } from "./sse.ts";
import { withTenant } from "./tenant.ts";
import { isTransport, jsonRpcError } from "./wire-error.ts";

/** The id of every request: an answer has it or it is the answer to something else. */
export const REQUEST_ID = "convoke-check";

/**
 * Speaks JSON-RPC. What is around results and errors is looked at by probes of its own, so that
 * one mistake there is not found again by every other probe.
 */
export class JsonRpcSpeaker implements Speaker {
  readonly binding = "jsonrpc";
  readonly version;
  readonly #conversation: Conversation;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
    this.version = conversation.target.version;
  }

  async call(call: Call): Promise<Answer> {
    return this.#answer(await this.post(JSON.stringify(this.#requestOf(call)), call));
  }

  async open(call: Call): Promise<Opened | Refused> {
    const { transcript } = this.#conversation;
    const body = JSON.stringify(this.#requestOf(call));
    const reply = await openHttp(this.#httpOf(body, call));
    if (isSse(reply)) {
      transcript.heard(`${reply.status} text/event-stream`);
      return { kind: "opened", headers: recordOf(reply.headers), events: itemsOf(reply) };
    }
    const answer = this.#answer(await wholeOf(reply, transcript));
    if (answer.kind === "refused") return answer;
    throw new Failed("a stream (text/event-stream)", answer.exchange);
  }

  /** Posts any text at all. */
  post(body: string, call: Pick<Call, "headers" | "query"> = {}): Promise<HttpReply> {
    return requestHttp(this.#httpOf(body, call));
  }

  #httpOf(body: string, call: Pick<Call, "headers" | "query">) {
    const { target, signal, transcript } = this.#conversation;
    const url = new URL(target.url);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
    return {
      method: "POST" as const,
      url: url.href,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headersOf(target, call),
      },
      body,
      signal,
      transcript,
    };
  }

  #requestOf({ operation, params }: Call): object {
    const { method, methods03 } = OPERATIONS[operation];
    return {
      jsonrpc: "2.0",
      id: REQUEST_ID,
      method: this.version === "1.0" ? method : (methods03[0] ?? "tasks/list"),
      params: withTenant(params, this.#conversation.target.tenant),
    };
  }

  #answer({ status, headers, text }: HttpReply): Answer {
    const body = parseJson(text);
    const exchange = this.#conversation.transcript.last;
    const around = { headers: recordOf(headers), body, exchange };
    const error = at(body, "error");
    if (isTransport(status) !== undefined || isObject(error)) {
      return { kind: "refused", error: jsonRpcError(error, status), ...around };
    }
    if (isObject(body) && Object.hasOwn(body, "result")) {
      return { kind: "served", result: body["result"], ...around };
    }
    throw new Failed("a JSON-RPC 2.0 response with a result or an error", exchange);
  }
}

async function* itemsOf(reply: OpenReply): AsyncGenerator<StreamItem, void> {
  for await (const { data } of sseEvents(reply)) {
    const envelope = parseJson(data) ?? data;
    const error = at(envelope, "error");
    const json = at(envelope, "result");
    yield { json, envelope, ...(isObject(error) && { error: jsonRpcError(error) }) };
  }
}
