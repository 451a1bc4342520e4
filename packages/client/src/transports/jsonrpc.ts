import {
  OPERATIONS,
  type Operation,
  type OperationName,
  type ProtocolVersion,
} from "@convoke/protocol";
import type { ChosenInterface } from "../choose-interface.ts";
import { ClientError, RemoteError } from "../errors.ts";
import { type Http, readText, unreachable } from "../http.ts";
import { errorFrom, errorIn } from "../read-error.ts";
import { readSse } from "../read-sse.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Goes on after this event. */
  readonly lastEventId?: string | undefined;
}

/** One result of a stream, with the id that resumes after it ("" when the server sends none). */
export interface Frame {
  readonly id: string;
  readonly result: unknown;
}

/** JSON-RPC over HTTP: opens and closes the envelope and knows nothing of what is inside. */
export class JsonRpcTransport {
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly #tenant: string | undefined;
  readonly #http: Http;
  #lastId = 0;

  constructor({ url, version, tenant }: ChosenInterface, http: Http) {
    this.url = url;
    this.version = version;
    this.#tenant = tenant;
    this.#http = http;
  }

  /** One request, one result. */
  async call(operation: OperationName, params: unknown, options: CallOptions): Promise<unknown> {
    const response = await this.#post(operation, params, "application/json", options);
    const text = await readText(response, this.url, options.signal);
    if (!response.ok) throw errorFrom(text, response.status, titleOf(response));
    return this.#open(text, response.status);
  }

  /** One request, many results, for as long as it takes: no time limit is set here. */
  async *stream(
    operation: OperationName,
    params: unknown,
    options: CallOptions,
  ): AsyncGenerator<Frame, void, undefined> {
    const response = await this.#post(operation, params, "text/event-stream", options);
    const { status, body } = response;
    if (!response.ok || body === null || !isEventStream(response)) {
      throw await this.#notAStream(response, options.signal);
    }
    try {
      for await (const { event, data, id } of readSse(body)) {
        if (event === "error") throw errorFrom(data, status, "the agent ended the stream");
        yield { id, result: this.#open(data, status) };
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof RemoteError || error instanceof ClientError) throw error;
      throw unreachable(`the connection to ${this.url} was lost`, error);
    }
  }

  async #post(
    operation: OperationName,
    params: unknown,
    accept: string,
    { signal, lastEventId }: CallOptions,
  ): Promise<Response> {
    const named =
      this.#tenant === undefined ? params : { ...(params as object), tenant: this.#tenant };
    this.#lastId += 1;
    const method = methodOf(operation, this.version);
    const request = { jsonrpc: "2.0", id: this.#lastId, method, params: named };
    return this.#http.request(this.url, {
      headers: {
        Accept: accept,
        ...(lastEventId !== undefined && { "Last-Event-ID": lastEventId }),
      },
      body: JSON.stringify(request),
      signal,
    });
  }

  #open(text: string, status: number): unknown {
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch (error) {
      throw this.#unreadable("is not JSON", error);
    }
    const failure = errorIn(answer, status);
    if (failure !== undefined) throw failure;
    if (typeof answer !== "object" || answer === null || !("result" in answer)) {
      throw this.#unreadable("has neither result nor error");
    }
    return answer.result;
  }

  /** Servers refuse a stream with a plain JSON error, or with an HTTP status. */
  async #notAStream(response: Response, signal: AbortSignal | undefined): Promise<Error> {
    const text = await readText(response, this.url, signal);
    if (!response.ok) return errorFrom(text, response.status, titleOf(response));
    this.#open(text, response.status);
    return this.#unreadable("is not an event stream");
  }

  #unreadable(problem: string, cause?: unknown): ClientError {
    return new ClientError("unreadable", `the answer of ${this.url} ${problem}`, { cause });
  }
}

function methodOf(name: OperationName, version: ProtocolVersion): string {
  const operation: Operation = OPERATIONS[name];
  const method = version === "1.0" ? operation.method : operation.methods03[0];
  if (method !== undefined) return method;
  throw new ClientError("unsupported", `A2A ${version} has no ${operation.method}`);
}

function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

function titleOf({ status, statusText }: Response): string {
  return `HTTP ${status} ${statusText}`.trim();
}
