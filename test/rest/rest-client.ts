import type { PublicEvent, Task } from "@convoke/protocol";
import { DIALECTS } from "../wire/dialect.ts";
import type { Answer, RequestHeaders } from "../wire/rpc.ts";
import { type Frame, WireStream } from "../wire/wire-stream.ts";
import type { RestDialect } from "./rest-dialect.ts";

/** One request; everything except its path is optional. */
interface Asked {
  readonly method?: string;
  /** Sent as JSON; text is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: RequestHeaders;
}

/** Calls one server via REST in one dialect, without using our own client. */
export class RestClient {
  readonly dialect: RestDialect;
  readonly #server: { readonly url: string };
  readonly #headers: RequestHeaders;
  readonly #tenant: string;

  constructor(
    server: { readonly url: string },
    dialect: RestDialect,
    { tenant, headers = {} }: { readonly tenant?: string; readonly headers?: RequestHeaders } = {},
  ) {
    this.#server = server;
    this.dialect = dialect;
    this.#headers = headers;
    this.#tenant = tenant === undefined ? "" : `${tenant}/`;
  }

  /** Requests a path below the prefix of the dialect. */
  async ask(path: string, asked: Asked = {}): Promise<Answer> {
    const answer = await this.#fetch(path, asked);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  get(path: string, headers: RequestHeaders = {}): Promise<Answer> {
    return this.ask(path, { headers });
  }

  post(path: string, body: unknown, headers: RequestHeaders = {}): Promise<Answer> {
    return this.ask(path, { method: "POST", body, headers });
  }

  send(text: string, more: SendFields = {}): Promise<Answer> {
    return this.post("message:send", this.sending(text, more));
  }

  /** Sends, and expects a task. */
  async sendTask(text: string, more: SendFields = {}): Promise<Task> {
    const answer = await this.send(text, more);
    const result = this.dialect.codec.decodeSendResult(valueOf(answer));
    if (result.kind !== "task") throw new Error(`This is no task: ${answer.text}`);
    return result;
  }

  async getTask(taskId: string, query = ""): Promise<Task> {
    return this.dialect.getCodec.decodeTask(valueOf(await this.get(`tasks/${taskId}${query}`)));
  }

  stream(text: string, more: SendFields = {}): Promise<RestStream> {
    return this.open("message:stream", { method: "POST", body: this.sending(text, more) });
  }

  /** Makes a request that returns a stream. */
  async open(path: string, asked: Asked = {}): Promise<RestStream> {
    const leave = new AbortController();
    const answer = await this.#fetch(path, asked, leave.signal);
    if (answer.headers.get("content-type") !== "text/event-stream") {
      throw new Error(`This is no stream: ${await answer.text()}`);
    }
    const { codec, getCodec } = this.dialect;
    return new RestStream(answer, asked.method === "POST" ? codec : getCodec, leave);
  }

  sending(text: string, { message, ...more }: SendFields = {}): object {
    return { message: this.dialect.message(text, message), ...more };
  }

  #fetch(path: string, { method = "GET", body, headers }: Asked, signal?: AbortSignal) {
    const { prefix } = this.dialect;
    return fetch(`${this.#server.url}${prefix}${this.#tenant}${path}`, {
      method,
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...this.#headers,
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }
}

/** Optional fields of a send in addition to its text. */
interface SendFields {
  /** Fields of the message. */
  readonly message?: object;
  readonly configuration?: object;
  readonly metadata?: object;
  readonly tenant?: unknown;
}

/** A stream whose frames contain bare events. */
export class RestStream extends WireStream {
  readonly #codec: RestDialect["codec"];

  constructor(answer: Response, codec: RestDialect["codec"], leave: AbortController) {
    // The frame parser is our own; what a JSON-RPC dialect adds is not used.
    super(answer, DIALECTS[0]!, leave);
    this.#codec = codec;
  }

  /** All events, once the stream has ended. */
  override async events(): Promise<readonly PublicEvent[]> {
    return this.read(await this.all);
  }

  read(frames: readonly Frame[]): readonly PublicEvent[] {
    return frames.map(({ text }) => this.#codec.decodeEvent(JSON.parse(text)));
  }

  override async task(frames = 1): Promise<Task> {
    const [first] = this.read(await this.take(frames));
    if (first?.kind === "task") return first;
    throw new Error(`This is no task: ${JSON.stringify(first)}`);
  }
}

/** The body of a response that is not an error. */
export function valueOf({ status, text }: Answer): unknown {
  if (status < 200 || status > 299) throw new Error(`This is an error: ${status} ${text}`);
  return JSON.parse(text);
}

/** The fields of an error, in either version. */
interface Fault {
  readonly status: number;
  /** The code in 0.3, the reason in 1.0. */
  readonly kind: unknown;
  readonly field: unknown;
  readonly message: string;
}

interface ErrorBody {
  readonly code?: number;
  readonly message?: string;
  readonly data?: { readonly field?: string };
  readonly error?: {
    readonly message: string;
    readonly details: readonly {
      readonly reason?: string;
      readonly fieldViolations?: readonly { readonly field: string }[];
    }[];
  };
}

export function faultOf({ status, text }: Answer): Fault {
  const { code, message = "", data, error } = JSON.parse(text) as ErrorBody;
  if (error === undefined || code !== undefined) {
    return { status, kind: code, field: data?.field, message };
  }
  const [info, badRequest] = error.details;
  const field = badRequest?.fieldViolations?.[0]?.field;
  return { status, kind: info?.reason, field, message: error.message };
}
