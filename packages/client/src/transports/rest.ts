import {
  type CallOptions,
  ClientError,
  type Codec,
  type OperationName,
  PROTO_CODECS,
  type Speaking,
  type SseEvent,
  type StreamOptions,
} from "@convoke/protocol";
import type { AgentHttp } from "../auth/agent-http.ts";
import type { ChosenInterface } from "../choose-interface.ts";
import { type HttpAnswer, readText } from "@convoke/egress/http";
import { isEventStream, isOk } from "./answer-head.ts";
import { errorFrom, errorIn } from "./read-error.ts";
import { restRequest } from "./rest-request.ts";
import { framesIn } from "./sse-frames.ts";
import type { Frame, Transport } from "./transport.ts";

/** What 1.0.1 has, and what every server took before (1.0 §11.1). */
const A2A_JSON = "application/a2a+json";
const JSON_TYPE = "application/json";

/** HTTP+JSON: a path for each operation, and no envelope. */
export class RestTransport implements Transport {
  readonly speaking: Speaking;
  readonly codec: Codec;
  readonly #base: string;
  readonly #tenant: string | undefined;
  readonly #http: AgentHttp;
  #contentType: string;
  #subscribeBy: "POST" | "GET" = "POST";

  constructor({ url, version, tenant }: ChosenInterface, http: AgentHttp) {
    this.speaking = { url, version, binding: "HTTP+JSON" };
    this.codec = PROTO_CODECS[version];
    const { origin, pathname } = new URL(url);
    this.#base = `${origin}${pathname.replace(/\/+$/, "")}`;
    this.#tenant = tenant;
    this.#http = http;
    this.#contentType = version === "1.0" ? A2A_JSON : JSON_TYPE;
  }

  async call(
    operation: OperationName,
    params: unknown,
    options: CallOptions = {},
  ): Promise<unknown> {
    const accept = this.speaking.version === "1.0" ? `${A2A_JSON}, ${JSON_TYPE}` : JSON_TYPE;
    const answer = await this.#request(operation, params, accept, options);
    const text = await this.#textOf(answer, options.signal);
    if (!isOk(answer)) throw errorFrom(text, answer);
    // A delete has nothing to say, and need not say it in JSON.
    return text.trim() === "" ? undefined : this.#parse(text);
  }

  async *stream(
    operation: OperationName,
    params: unknown,
    options: StreamOptions = {},
  ): AsyncGenerator<readonly Frame[], void, undefined> {
    const answer = await this.#open(operation, params, options);
    if (!isOk(answer) || !isEventStream(answer)) {
      const text = await this.#textOf(answer, options.signal);
      if (!isOk(answer)) throw errorFrom(text, answer);
      const result = this.#parse(text);
      if (errorIn(result, answer)) throw errorFrom(this.#http.clean(text), answer);
      // An agent that has the whole answer already may give it at once.
      yield [{ kind: "result", result, id: "" }];
      return;
    }
    const read = ({ event, data, id }: SseEvent): Frame => {
      if (event === "error") {
        throw errorFrom(this.#http.clean(data), answer, "the agent ended the stream");
      }
      const result = this.#parse(data);
      if (errorIn(result, answer)) throw errorFrom(this.#http.clean(data), answer);
      return { kind: "result", result, id };
    };
    yield* framesIn(answer, { read, url: this.speaking.url, signal: options.signal });
  }

  /** The text of both versions subscribes by POST and their proto by GET, so servers may have one only. */
  async #open(
    operation: OperationName,
    params: unknown,
    options: StreamOptions,
  ): Promise<HttpAnswer> {
    const accept = "text/event-stream";
    const answer = await this.#request(operation, params, accept, options);
    const isMissing = answer.status === 404 || answer.status === 405;
    if (operation !== "subscribeToTask" || !isMissing || this.#subscribeBy === "GET") return answer;
    const text = await this.#textOf(answer, options.signal);
    const { reason } = errorFrom(text, answer);
    // The task is missing, and not the path.
    if (reason !== undefined && reason !== "MethodNotFound") {
      return { ...answer, body: piecesOf(text) };
    }
    this.#subscribeBy = "GET";
    const again = await this.#request(operation, params, accept, options);
    if (again.status === 404 || again.status === 405) this.#subscribeBy = "POST";
    return again;
  }

  async #request(
    operation: OperationName,
    params: unknown,
    accept: string,
    { signal, lastEventId, context }: StreamOptions,
  ): Promise<HttpAnswer> {
    const { method, path, body } = restRequest({
      operation,
      version: this.speaking.version,
      params,
      tenant: this.#tenant,
      ...(operation === "subscribeToTask" && { method: this.#subscribeBy }),
    });
    const send = (contentType: string) =>
      this.#http.request({
        method,
        url: `${this.#base}${path}`,
        headers: {
          Accept: accept,
          ...(body !== undefined && { "Content-Type": contentType }),
          ...(lastEventId !== undefined && { "Last-Event-ID": lastEventId }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
        context,
      });
    const answer = await send(this.#contentType);
    if (answer.status !== 415 || body === undefined || this.#contentType === JSON_TYPE) {
      return answer;
    }
    // An older server; it read nothing of it.
    await readText(answer, signal);
    this.#contentType = JSON_TYPE;
    return send(JSON_TYPE);
  }

  async #textOf(answer: HttpAnswer, signal: AbortSignal | undefined): Promise<string> {
    const text = await readText(answer, signal);
    return isOk(answer) ? text : this.#http.clean(text);
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.#unreadable("is not JSON", error);
    }
  }

  #unreadable(problem: string, cause?: unknown): ClientError {
    return new ClientError("unreadable", `the answer of ${this.speaking.url} ${problem}`, {
      cause,
    });
  }
}

async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
