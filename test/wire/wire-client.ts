import type { Message, Task } from "@convoke/protocol";
import { type Dialect, type Verb, aMessage } from "./dialect.ts";
import { type Answer, type RequestHeaders, bodyOf, post, rpcText } from "./rpc.ts";
import { WireStream } from "./wire-stream.ts";

/** Optional fields of a send in addition to its text. */
interface SendOptions {
  /** Fields of the message. */
  readonly message?: object;
  readonly configuration?: object;
  readonly metadata?: object;
  readonly headers?: RequestHeaders;
}

/** Calls one server in one version, without using our own client. */
export class WireClient {
  readonly dialect: Dialect;
  readonly #server: { readonly url: string };
  readonly #headers: RequestHeaders;

  constructor(server: { readonly url: string }, dialect: Dialect, headers: RequestHeaders = {}) {
    this.#server = server;
    this.dialect = dialect;
    this.#headers = headers;
  }

  /** Calls an operation, or any method by its name. */
  call(method: Verb | (string & {}), params: unknown, headers?: RequestHeaders): Promise<Answer> {
    return post(this.#server.url, this.#text(method, params), { ...this.#headers, ...headers });
  }

  send(text: string, options: SendOptions = {}): Promise<Answer> {
    return this.call("send", this.#sending(text, options), options.headers);
  }

  /** Sends, and expects a task. */
  async sendTask(text: string, options?: SendOptions): Promise<Task> {
    const result = this.resultOf(await this.send(text, options));
    if (result.kind !== "task") throw new Error(`This is no task: ${JSON.stringify(result)}`);
    return result;
  }

  /** The result of a send. */
  resultOf(answer: Answer): Task | Message {
    return this.dialect.codec.decodeSendResult(valueOf(answer));
  }

  async get(taskId: string, fields: object = {}): Promise<Task> {
    const answer = await this.call("get", { id: taskId, ...fields });
    return this.dialect.codec.decodeTask(valueOf(answer));
  }

  async cancel(taskId: string): Promise<Task> {
    const answer = await this.call("cancel", { id: taskId });
    return this.dialect.codec.decodeTask(valueOf(answer));
  }

  stream(text: string, options: SendOptions = {}): Promise<WireStream> {
    return this.open("stream", this.#sending(text, options), options.headers);
  }

  subscribe(taskId: string, lastEventId?: string): Promise<WireStream> {
    const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    return this.open("subscribe", { id: taskId }, headers);
  }

  /** Calls a method that returns a stream. */
  async open(method: Verb, params: unknown, headers?: RequestHeaders): Promise<WireStream> {
    const leave = new AbortController();
    const answer = await fetch(this.#server.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...this.#headers, ...headers },
      body: this.#text(method, params),
      signal: leave.signal,
    });
    if (answer.headers.get("content-type") === "text/event-stream") {
      return new WireStream(answer, this.dialect, leave);
    }
    throw new Error(`This is no stream: ${await answer.text()}`);
  }

  #text(method: string, params: unknown): string {
    const { methods } = this.dialect;
    return rpcText(Object.hasOwn(methods, method) ? methods[method as Verb] : method, params);
  }

  #sending(text: string, { message, configuration, metadata }: SendOptions): object {
    return {
      message: aMessage(this.dialect, text, message),
      ...(configuration && { configuration }),
      ...(metadata && { metadata }),
    };
  }
}

/** The result of a response that is not an error. */
export function valueOf(answer: Answer): unknown {
  const { result } = bodyOf(answer);
  if (result === undefined) throw new Error(`This is an error: ${answer.text}`);
  return result;
}
