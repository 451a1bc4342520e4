import {
  CODECS,
  type CallOptions,
  ClientError,
  type Codec,
  OPERATIONS,
  type Operation,
  type OperationName,
  type ProtocolVersion,
  type PublicEvent,
  type SelectedInterface,
  type SseEvent,
  type StreamItem,
  type StreamOptions,
} from "@convoke/protocol";
import type { AgentHttp } from "../auth/agent-http.ts";
import type { ChosenInterface } from "../cards/choose-interface.ts";
import { type HttpAnswer, readText } from "@convoke/egress/http";
import { type ResponseHead, errorIn, isEventStream, isOk, parseError } from "./errors.ts";
import { readEvents } from "./sse-events.ts";
import type { DecodeEvent, Transport } from "./transport.ts";

// Frozen, so that what is made of them is made once.
const ACCEPT_JSON = Object.freeze({ Accept: "application/json" });
const ACCEPT_EVENTS = Object.freeze({ Accept: "text/event-stream" });

/** JSON-RPC over HTTP. */
export class JsonRpcTransport implements Transport {
  readonly speaking: SelectedInterface;
  readonly codec: Codec;
  readonly #tenant: string | undefined;
  readonly #http: AgentHttp;
  #lastId = 0;

  constructor({ url, version, tenant }: ChosenInterface, http: AgentHttp) {
    this.speaking = { url, version, binding: "JSONRPC" };
    this.codec = CODECS[version];
    this.#tenant = tenant;
    this.#http = http;
  }

  async call(
    operation: OperationName,
    params: unknown,
    options: CallOptions = {},
  ): Promise<unknown> {
    const id = this.#nextId();
    const body = this.#bodyOf(id, operation, params);
    const answer = await this.#post(body, ACCEPT_JSON, options);
    return this.#resultIn(await readText(answer, options.signal), answer, id);
  }

  async *stream(
    operation: OperationName,
    params: unknown,
    decode: DecodeEvent,
    options: StreamOptions = {},
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    const id = this.#nextId();
    const { lastEventId } = options;
    const headers =
      lastEventId === undefined
        ? ACCEPT_EVENTS
        : { ...ACCEPT_EVENTS, "Last-Event-ID": lastEventId };
    const answer = await this.#post(this.#bodyOf(id, operation, params), headers, options);
    if (!isOk(answer) || !isEventStream(answer)) {
      // An agent that already has the complete answer may send it as a single response.
      // Servers reject a stream with a JSON error or an HTTP status; anything else is a result.
      const text = await readText(answer, options.signal);
      const event = decode(this.#resultIn(text, answer, id));
      yield [{ kind: "event", event, id: "" }];
      return;
    }
    const read = ({ event, data }: SseEvent): PublicEvent => {
      if (event === "error") {
        throw parseError(this.#http.clean(data), answer, "the agent ended the stream");
      }
      return decode(this.#open(data, answer, id));
    };
    yield* readEvents(answer, { read, url: this.speaking.url, signal: options.signal });
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #bodyOf(id: number, operation: OperationName, params: unknown): string {
    const named =
      this.#tenant === undefined ? params : { ...(params as object), tenant: this.#tenant };
    const method = methodOf(operation, this.speaking.version);
    return JSON.stringify({ jsonrpc: "2.0", id, method, params: named });
  }

  #post(
    body: string,
    headers: Readonly<Record<string, string>>,
    { signal, context }: CallOptions,
  ): Promise<HttpAnswer> {
    return this.#http.request({ url: this.speaking.url, headers, body, signal, context });
  }

  #resultIn(text: string, head: ResponseHead, id: number): unknown {
    if (!isOk(head)) throw parseError(this.#http.clean(text), head);
    return this.#open(text, head, id);
  }

  #open(text: string, head: ResponseHead, id: number): unknown {
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch (error) {
      throw this.#unreadable("is not JSON", error);
    }
    if (typeof answer !== "object" || answer === null) {
      throw this.#unreadable("has neither result nor error");
    }
    const failure = errorIn(answer, head);
    this.#checkId(answer, id, failure !== undefined);
    if (failure !== undefined) throw parseError(this.#http.clean(text), head);
    if (!("result" in answer)) throw this.#unreadable("has neither result nor error");
    return answer.result;
  }

  /**
   * A response to another request must not be mistaken for this one's. Early servers omit the id or
   * always write 1; an error may have none if the request could not be parsed.
   */
  #checkId(answer: object, id: number, isError: boolean): void {
    const { id: answered } = answer as { readonly id?: unknown };
    if (answered === undefined || answered === id || answered === String(id)) return;
    if (isError && answered === null) return;
    if (this.speaking.version === "0.3" && answered === 1) return;
    throw this.#unreadable(`has the id ${JSON.stringify(answered)}, and the request had ${id}`);
  }

  #unreadable(problem: string, cause?: unknown): ClientError {
    return new ClientError("unreadable", `the response from ${this.speaking.url} ${problem}`, {
      cause,
    });
  }
}

function methodOf(name: OperationName, version: ProtocolVersion): string {
  const operation: Operation = OPERATIONS[name];
  const method = version === "1.0" ? operation.method : operation.methods03[0];
  if (method !== undefined) return method;
  throw new ClientError("unsupported", `A2A ${version} has no ${operation.method}`);
}
