import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { buffer } from "node:stream/consumers";
import { A2AError } from "@convoke/protocol";
import { GrpcFrameReader } from "@convoke/protocol/internal";
import type { WireHeaders } from "../wire/client.ts";
import { at, parseJson } from "../wire/json.ts";
import type { ProbePlace, Reply } from "./answer.ts";
import { cardFor, honestReply } from "./honest-agent.ts";
import { type Handlers, Listener } from "./listener.ts";
import { playGrpc, rejectGrpc } from "./play-grpc.ts";
import { playHttp } from "./play-http.ts";
import {
  type SeenRequest,
  type Speaking,
  type Step,
  findGrpcMethod,
  recognize,
} from "./seen-request.ts";
import { type ClientResult, Visit } from "./visit.ts";

/** The agent of one probe. */
export interface ProbeScript {
  /** Its name in URLs. */
  readonly slug: string;
  readonly speaking: Speaking;
  /** Its card. Default: one interface of this version and binding. */
  readonly card?: ((place: ProbePlace) => unknown) | undefined;
  /** Steps that are not listed are answered correctly. */
  readonly replies?: Readonly<Partial<Record<Step, Reply>>> | undefined;
  /** What `/probes.json` says about it, in addition to its URLs. */
  readonly facts: object;
}

/** The agents of all probes on this machine, and what clients did there. */
export class ProbeServer {
  readonly #scripts: ReadonlyMap<string, ProbeScript>;
  readonly #visits: ReadonlyMap<string, Visit>;
  readonly #listeners: Listener[] = [];
  readonly #over = new AbortController();
  #url = "";
  #foreignUrl = "";
  /** gRPC has no path to tell probes apart, so each gRPC probe has a port. */
  readonly #grpcUrls = new Map<string, string>();

  private constructor(scripts: readonly ProbeScript[]) {
    this.#scripts = new Map(scripts.map((script) => [script.slug, script]));
    this.#visits = new Map(scripts.map(({ slug }) => [slug, new Visit()]));
  }

  /** @param port 0 takes any free port */
  static async start(scripts: readonly ProbeScript[], port: number): Promise<ProbeServer> {
    const server = new ProbeServer(scripts);
    server.#url = await server.#listen(port, { http: server.#httpHandler(false) });
    server.#foreignUrl = await server.#listen(0, { http: server.#httpHandler(true) });
    for (const script of scripts) {
      if (script.speaking.binding !== "grpc") continue;
      const handlers: Handlers = {
        http: server.#httpHandler(false),
        grpc: (stream, headers) => void server.#takeCall(script, stream, headers),
      };
      server.#grpcUrls.set(script.slug, await server.#listen(0, handlers));
    }
    return server;
  }

  /** The URL of the list of probes. */
  get listUrl(): string {
    return `${this.#url}/probes.json`;
  }

  cardUrl(slug: string): string {
    return `${this.#placeOf(slug).base}/.well-known/agent-card.json`;
  }

  visit(slug: string): Visit {
    const visit = this.#visits.get(slug);
    if (visit === undefined) throw new RangeError(`there is no probe ${slug}`);
    return visit;
  }

  async close(): Promise<void> {
    this.#over.abort(new Error("the server of the probes has closed"));
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }

  async #listen(port: number, handlers: Handlers): Promise<string> {
    const listener = new Listener(handlers);
    const actual = await listener.listen(port);
    this.#listeners.push(listener);
    return `http://127.0.0.1:${actual}`;
  }

  #placeOf(slug: string): ProbePlace {
    const speaking = this.#scripts.get(slug)?.speaking;
    if (speaking === undefined) throw new RangeError(`there is no probe ${slug}`);
    return {
      speaking,
      base: `${this.#grpcUrls.get(slug) ?? this.#url}/probes/${slug}`,
      foreign: `${this.#foreignUrl}/probes/${slug}`,
    };
  }

  #httpHandler(isForeign: boolean): Handlers["http"] {
    return (request, response) =>
      void this.#takeRequest(request, response, isForeign).catch(() => response.destroy());
  }

  async #takeRequest(
    request: IncomingMessage,
    response: ServerResponse,
    isForeign: boolean,
  ): Promise<void> {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "", this.#url);
    const body = (await buffer(request)).toString();
    if (url.pathname === "/probes.json") return endJson(response, 200, this.#list());
    const [, slug = "", path = ""] = /^\/probes\/([^/]+)(.*)$/.exec(url.pathname) ?? [];
    const script = this.#scripts.get(slug);
    if (script === undefined) return endJson(response, 404, { error: "there is no such probe" });
    if (path === "/result") return this.#takeResult(slug, method, body, response);
    const query = Object.fromEntries(url.searchParams);
    const facts = { method, path, query, body };
    const visit = this.visit(slug);
    const seen = visit.record({
      ...recognize(script.speaking, facts),
      ...facts,
      isForeign,
      headers: asWireHeaders(headers),
    });
    const signal = this.#signalOf(response);
    response.once("close", () => visit.settle());
    const { speaking } = script;
    await playHttp(this.#reply(script, seen), { request: seen, response, speaking, signal });
  }

  #reply(script: ProbeScript, seen: SeenRequest): ReturnType<Reply> {
    const place = this.#placeOf(script.slug);
    const reply = script.replies?.[seen.step];
    if (reply !== undefined) return reply(seen, place);
    if (seen.step === "card") return bareCard(script.card?.(place) ?? cardFor(place));
    return honestReply(seen.step)(seen, place);
  }

  async #takeCall(
    script: ProbeScript,
    stream: ServerHttp2Stream,
    headers: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const path = String(headers[":path"]);
    const { speaking } = script;
    const method = findGrpcMethod(speaking.version, path);
    const visit = this.visit(script.slug);
    const params = method?.decodeRequest(messageIn(await buffer(stream)));
    const seen = visit.record({
      step: method?.operation ?? "unknown",
      isForeign: false,
      method: "POST",
      path,
      query: {},
      headers: asWireHeaders(headers),
      body: "",
      json: params,
      params,
    });
    stream.once("close", () => visit.settle());
    if (method === undefined) {
      rejectGrpc(stream, new A2AError("MethodNotFound", `there is no ${path}`));
      return;
    }
    const signal = this.#signalOf(stream);
    await playGrpc(this.#reply(script, seen), { stream, method, speaking, signal }).catch(() => {
      stream.close();
    });
  }

  /** Aborts when the client has closed its connection, or this server closes. */
  #signalOf(channel: NodeJS.EventEmitter): AbortSignal {
    const gone = new AbortController();
    channel.once("close", () => gone.abort(new Error("the client has closed the connection")));
    return AbortSignal.any([gone.signal, this.#over.signal]);
  }

  #takeResult(slug: string, method: string, body: string, response: ServerResponse): void {
    const result = parseResult(parseJson(body));
    if (method !== "POST" || result === undefined) {
      const error = 'POST {"text": "…"}, {"error": "…"} or {"unsupported": "…"}';
      return endJson(response, 400, { error });
    }
    this.visit(slug).finish(result);
    return endJson(response, 200, {});
  }

  #list(): object {
    const probes = [...this.#scripts.values()].map(({ slug, facts }) => ({
      probe: slug,
      cardUrl: this.cardUrl(slug),
      resultUrl: `${this.#url}/probes/${slug}/result`,
      ...facts,
    }));
    return { probes };
  }
}

/** A card is JSON without an envelope, on every binding. */
function bareCard(card: unknown): ReturnType<Reply> {
  return {
    kind: "raw",
    status: 200,
    headers: { "content-type": "application/json" },
    body: [JSON.stringify(card)],
  };
}

function parseResult(json: unknown): ClientResult | undefined {
  const text = at(json, "text");
  const error = at(json, "error");
  const reason = at(json, "unsupported");
  if (typeof text === "string") return { kind: "text", text };
  if (typeof error === "string") return { kind: "error", error };
  return typeof reason === "string" ? { kind: "unsupported", reason } : undefined;
}

function endJson(response: ServerResponse, status: number, json: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(json));
}

function asWireHeaders(headers: Readonly<Record<string, unknown>>): WireHeaders {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return Object.fromEntries(texts) as WireHeaders;
}

/** The message of a request. All requests of A2A are unary. */
function messageIn(body: Uint8Array): Uint8Array {
  const reader = new GrpcFrameReader({
    maxBytes: body.length,
    fail: (problem) => new TypeError(`the frame is ${problem}`),
  });
  return reader.push(body)[0] ?? new Uint8Array();
}
