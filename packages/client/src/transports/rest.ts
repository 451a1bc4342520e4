import {
  type CallOptions,
  ClientError,
  type Codec,
  type OperationName,
  PROTO_CODECS,
  type ProtocolVersion,
  type PublicEvent,
  REST_ROUTES,
  type RestRoute,
  type SelectedInterface,
  type SseEvent,
  type StreamItem,
  type StreamOptions,
} from "@convoke/protocol";
import type { AgentHttp } from "../auth/agent-http.ts";
import type { ChosenInterface } from "../cards/choose-interface.ts";
import { type HttpAnswer, readText } from "@convoke/egress/http";
import { errorIn, isEventStream, isOk, parseError } from "./errors.ts";
import { readEvents } from "./sse-events.ts";
import type { DecodeEvent, Transport } from "./transport.ts";

/** The media type of 1.0.1, and the one that every earlier server accepts (1.0 §11.1). */
const A2A_JSON = "application/a2a+json";
const JSON_TYPE = "application/json";

/** HTTP+JSON: a path per operation, without an envelope. */
export class RestTransport implements Transport {
  readonly speaking: SelectedInterface;
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
    if (!isOk(answer)) throw parseError(text, answer);
    // A delete has no result, and its body may be empty.
    return text.trim() === "" ? undefined : this.#parse(text);
  }

  async *stream(
    operation: OperationName,
    params: unknown,
    decode: DecodeEvent,
    options: StreamOptions = {},
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    const answer = await this.#open(operation, params, options);
    if (!isOk(answer) || !isEventStream(answer)) {
      const text = await this.#textOf(answer, options.signal);
      if (!isOk(answer)) throw parseError(text, answer);
      const result = this.#parse(text);
      if (errorIn(result, answer)) throw parseError(this.#http.clean(text), answer);
      // An agent that already has the complete answer may send it as a single response.
      yield [{ kind: "event", event: decode(result), id: "" }];
      return;
    }
    const read = ({ event, data }: SseEvent): PublicEvent => {
      if (event === "error") {
        throw parseError(this.#http.clean(data), answer, "the agent ended the stream");
      }
      const result = this.#parse(data);
      if (errorIn(result, answer)) throw parseError(this.#http.clean(data), answer);
      return decode(result);
    };
    yield* readEvents(answer, { read, url: this.speaking.url, signal: options.signal });
  }

  /** The specifications subscribe with POST, their proto files with GET: a server may support only one. */
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
    const { reason } = parseError(text, answer);
    // The task does not exist; the path does.
    if (reason !== undefined && reason !== "MethodNotFound") {
      return { ...answer, body: toChunks(text) };
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
    // An older server, which did not read the request.
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
    return new ClientError("unreadable", `the response from ${this.speaking.url} ${problem}`, {
      cause,
    });
  }
}

async function* toChunks(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** A request of the REST binding; the path is relative to the interface. */
interface RestRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: object;
}

type Fields = Readonly<Record<string, unknown>>;

interface RestRequestOptions {
  readonly operation: OperationName;
  readonly version: ProtocolVersion;
  /** As the codec encoded them. */
  readonly params: unknown;
  readonly tenant?: string | undefined;
  /** For operations with two methods; by default the one in the text of the specification. */
  readonly method?: "GET" | "POST";
}

/** Distributes the params over path, query and body (0.3 §3.5.6, 1.0 §11.3). */
function restRequest(options: RestRequestOptions): RestRequest {
  const { operation, version, params, tenant } = options;
  const { methods, paths }: RestRoute = REST_ROUTES[operation];
  const method = options.method ?? (methods.includes("POST") ? "POST" : (methods[0] ?? "GET"));
  const { names, rest } = split(operation, version, (params ?? {}) as Fields);
  const filled = paths[version].replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(names[name] ?? ""),
  );
  const path = tenant === undefined ? filled : `/${encodeURIComponent(tenant)}${filled}`;
  if (method === "POST") return { method, path, body: rest };
  return { method, path: `${path}${toQuery(rest)}` };
}

interface Split {
  /** The parameters of the path. */
  readonly names: Readonly<Record<string, string>>;
  readonly rest: Fields;
}

/** Separates the parameters of the path from the rest. */
function split(operation: OperationName, version: ProtocolVersion, params: Fields): Split {
  if (version === "0.3") return splitNames(operation, params);
  const { id, taskId, ...rest } = params as { readonly id?: string; readonly taskId?: string };
  switch (operation) {
    case "getTask":
    case "cancelTask":
    case "subscribeToTask":
      return { names: { taskId: id ?? "" }, rest };
    case "createPushConfig":
      return {
        names: { taskId: taskId ?? "" },
        rest: { ...(id !== undefined && { id }), ...rest },
      };
    case "listPushConfigs":
    case "getPushConfig":
    case "deletePushConfig":
      return { names: { taskId: taskId ?? "", configId: id ?? "" }, rest };
    default:
      return { names: {}, rest: params };
  }
}

/** An id may contain anything, even a slash. */
const NAME = /^tasks\/(.*?)(?:\/pushNotificationConfigs\/(.*))?$/s;

/** 0.3 uses resource names: `tasks/{taskId}/pushNotificationConfigs/{configId}`. */
function splitNames(operation: OperationName, params: Fields): Split {
  const { name, parent, ...rest } = params;
  const [, taskId = "", configId = ""] = NAME.exec(String(name ?? parent)) ?? [];
  // For this operation its servers read the whole request, or its `config`.
  const isCreate = operation === "createPushConfig";
  return { names: { taskId, configId }, rest: isCreate ? params : rest };
}

/** 1.0 §11.5: camelCase; unset fields are omitted. */
function toQuery(fields: Fields): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    query.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}
