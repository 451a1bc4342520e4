import { type OperationName, type ProtocolVersion, REST_ROUTES } from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import {
  type Call,
  type ErrorResponse,
  type OpenStream,
  type StreamItem,
  type WireClient,
  type WireResponse,
  type WireSession,
  requestHeaders,
} from "./client.ts";
import { type WireError, authReason, parseRpcError, reasonInDetails } from "./errors.ts";
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
import { at, listAt, parseJson, textAt } from "./json.ts";

/** A raw REST client. */
export class RestClient implements WireClient {
  readonly binding = "rest";
  readonly version;
  readonly #session: WireSession;

  constructor(session: WireSession) {
    this.#session = session;
    this.version = session.target.version;
  }

  async call(call: Call): Promise<WireResponse> {
    const request = this.#toRequest(call);
    const response = this.#parse(await this.request(request, call));
    // The text of 0.3 wraps a push config in an object, its proto does not: a server may follow either.
    const hasTwoForms = this.version === "0.3" && call.operation === "createPushConfig";
    if (response.kind === "result" || !hasTwoForms || response.error.http !== 400) return response;
    return this.#parse(await this.request({ ...request, body: call.params }, call));
  }

  async open(call: Call): Promise<OpenStream | ErrorResponse> {
    const request = this.#toRequest(call);
    const opened = await this.#open(request, call);
    // The text of both versions says POST, their protos say GET: a server may know only one.
    const hasTwoVerbs = call.operation === "subscribeToTask" && opened.kind === "error";
    if (!hasTwoVerbs || ![404, 405].includes(opened.error.http ?? 0)) return opened;
    if (opened.error.reason !== undefined) return opened;
    return this.#open({ method: "GET", path: request.path }, call);
  }

  /** Requests any path, with any body. */
  request(request: RestRequest, call: Pick<Call, "headers" | "query"> = {}): Promise<HttpReply> {
    return requestHttp(this.#toHttp(request, call));
  }

  async #open(request: RestRequest, call: Call): Promise<OpenStream | ErrorResponse> {
    const { transcript } = this.#session;
    const reply = await openHttp(this.#toHttp(request, call));
    if (isSse(reply) && reply.status < 300) {
      transcript.recordReceived(`${reply.status} text/event-stream`);
      return { kind: "stream", headers: toRecord(reply.headers), events: readEvents(reply) };
    }
    const response = this.#parse(await readReply(reply, transcript));
    if (response.kind === "error") return response;
    throw new Failed("a stream (text/event-stream)", response.exchange);
  }

  #toRequest({ operation, params }: Call): RestRequest {
    const { tenant } = this.#session.target;
    const request = toRestRequest(this.version, operation, params);
    if (tenant === "") return request;
    return { ...request, path: `/${encodeURIComponent(tenant)}${request.path}` };
  }

  #toHttp(
    { method, path, query, body }: RestRequest,
    call: Pick<Call, "headers" | "query">,
  ): HttpRequest {
    const { target, signal, transcript } = this.#session;
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
        ...requestHeaders(target, call),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      signal,
      transcript,
    };
  }

  #parse({ status, headers, text }: HttpReply): WireResponse {
    const body = parseJson(text);
    const exchange = this.#session.transcript.last;
    const facts = { headers: toRecord(headers), body, exchange };
    if (status >= 200 && status < 300) {
      if (text !== "" && body === undefined) throw new Failed("a JSON body", exchange);
      return { kind: "result", result: text === "" ? {} : body, ...facts };
    }
    if (status < 400) throw new Failed("a response at this address, not a redirect", exchange);
    return { kind: "error", error: parseRestError(body, status), ...facts };
  }
}

/** A call as a REST request: the params, divided among path, query and body. */
export interface RestRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: JsonObject;
  readonly body?: unknown;
}

/** The ids that go into the path, and the params that they come from. */
interface PathIds {
  readonly taskId: string;
  readonly configId: string;
  readonly params: readonly string[];
}

/** Builds a request from the route table of the version. */
function toRestRequest(
  version: ProtocolVersion,
  operation: OperationName,
  params: unknown,
): RestRequest {
  const { methods, paths } = REST_ROUTES[operation];
  const template: string = paths[version];
  const given = isObject(params) ? params : {};
  const ids = version === "1.0" ? pathIdsV1(template, given) : pathIdsV03(given);
  const path = template
    .replace("{taskId}", encodeURIComponent(ids.taskId))
    .replace("{configId}", encodeURIComponent(ids.configId));
  const others = Object.entries(given).filter(([name]) => !ids.params.includes(name));
  const rest = Object.fromEntries(others);
  const method = methods.find((each) => each === "POST") ?? methods[0];
  if (method !== "POST") return { method, path, query: rest };
  // In the proto of 0.3 the config is the whole body.
  const isConfig = version === "0.3" && operation === "createPushConfig";
  return { method, path, body: isConfig ? given["config"] : rest };
}

/** 1.0 §5.3: `id` is the id of the resource that the path ends with. */
function pathIdsV1(template: string, params: JsonObject): PathIds {
  const [id, taskId] = [textAt(params, "id"), textAt(params, "taskId")];
  if (template.includes("{configId}")) return { taskId, configId: id, params: ["taskId", "id"] };
  if (template.endsWith("Configs")) return { taskId, configId: "", params: ["taskId"] };
  return { taskId: id, configId: "", params: template.includes("{taskId}") ? ["id"] : [] };
}

/** 0.3 §3.5.6: resource names are paths. An id may itself contain slashes. */
function pathIdsV03(params: JsonObject): PathIds {
  const name = textAt(params, "name") || textAt(params, "parent");
  const [, taskId = "", configId = ""] =
    /^tasks\/([^/]*)(?:\/pushNotificationConfigs\/(.*))?$/s.exec(name) ?? [];
  return { taskId, configId, params: ["name", "parent"] };
}

async function* readEvents(reply: OpenReply): AsyncGenerator<StreamItem, void> {
  for await (const { id, event, data } of sseEvents(reply)) {
    const envelope = parseJson(data) ?? data;
    const isError = event === "error" || (isObject(envelope) && isObject(envelope["error"]));
    const error = isError && { error: parseRestError(envelope, undefined) };
    yield { id, json: envelope, envelope, ...error };
  }
}

/** A google.rpc.Status in 1.0 (§11.6); in 0.3 a JSON-RPC error, with or without its envelope. */
function parseRestError(body: unknown, http: number | undefined): WireError {
  const status = at(body, "error");
  if (!isObject(status)) return parseRpcError(body, http);
  if (!Array.isArray(status["details"])) return parseRpcError(status, http);
  const details = listAt(status, "details");
  return {
    message: textAt(status, "message"),
    reason: authReason(http) ?? reasonInDetails(details),
    ...(http !== undefined && { http }),
    details,
  };
}
