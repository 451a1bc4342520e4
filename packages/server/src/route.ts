import { A2AError, type Caller, errorText } from "@convoke/protocol";
import { inSpan } from "@convoke/engine/tracing";
import type { App } from "./bindings/app.ts";
import { matchAdmin } from "./bindings/admin/handle.ts";
import { Admission } from "./guard/admission.ts";
import { RESOURCE_PATH } from "./guard/authenticate.ts";
import { CARD_PATH, CARD_PATHS, KEYS_PATH } from "./cards/card-binding.ts";
import {
  handleConsole,
  isConsolePath,
  isVisit,
  redirectToConsole,
} from "./bindings/console/handle.ts";
import { handleCoder } from "./bindings/coder/handle.ts";
import { matchCoder } from "./bindings/coder/routes.ts";
import { linkedFile, matchFile, sendFile } from "./bindings/files/handle.ts";
import { handleInbound } from "./bindings/inbound/handle.ts";
import { matchInbound } from "./bindings/inbound/routes.ts";
import { handleRest } from "./bindings/rest/handle.ts";
import { matchRest } from "./bindings/rest/routes.ts";
import { codecFor, handleJsonRpc } from "./bindings/jsonrpc/handle.ts";
import { stripBasePath } from "./http/address.ts";
import { withSpan } from "./http/request-span.ts";
import { PUBLIC_PREFLIGHT, isPreflight } from "./http/cors.ts";
import {
  type HttpHeaders,
  type HttpRequest,
  type HttpResponse,
  header,
  jsonResponse,
  retryHeaders,
} from "./http/exchange.ts";

/** The agents of a server by their paths. */
export interface Routes {
  /** The agent at the root. */
  readonly root: App;
  /** The path below which gRPC is served, in addition to the root. */
  readonly grpcBasePath: string;
  /** The agent at `/agents/<id>`. */
  find(id: string): App | undefined;
  /** Lists the agents. */
  directory(request: HttpRequest): HttpResponse;
}

/** Handles a request: finds its agent, checks it with the guard and passes it to the binding of its path. */
export async function route(routes: Routes, received: HttpRequest): Promise<HttpResponse> {
  const { app, request: located, problem } = locate(routes, withSingleSlashes(received));
  const request = withSpan(located);
  const admission = new Admission(app, request);
  const response = await inSpan(request.span, () => {
    if (request.path === DIRECTORY_PATH && request.agentPath === undefined) {
      const list = (): HttpResponse => allow(request, ["GET", "HEAD"]) ?? routes.directory(request);
      return dispatchPublic(app, request, admission, list);
    }
    if (problem !== undefined) return dispatchPublic(app, request, admission, () => problem);
    return dispatch(app, request, admission);
  });
  return app.cors.addHeaders(admission.finish(response), request);
}

/** A request for an agent, with the path below that of the agent. */
interface Located {
  readonly app: App;
  readonly request: HttpRequest;
  /** The response if there is no such agent. */
  readonly problem?: HttpResponse;
}

/** The list of the agents of this server. */
const DIRECTORY_PATH = "/.well-known/agents.json";

const AGENT_PATH = /^\/agents\/(?<id>[^/]+)(?<below>\/.*)?$/;

/** Where some clients look for the card of one of several agents. */
const CARD_ALIAS = /^\/api\/agents\/(?<id>[^/]+)\/agent-card$/;

function locate(routes: Routes, received: HttpRequest): Located {
  const request = isGrpc(received)
    ? { ...received, path: stripBasePath(received.path, routes.grpcBasePath) }
    : received;
  const alias = CARD_ALIAS.exec(request.path)?.groups?.["id"];
  const { id = alias, below = "/" } = AGENT_PATH.exec(request.path)?.groups ?? {};
  if (id === undefined) return { app: routes.root, request };
  const app = routes.find(id);
  if (app === undefined) {
    const problem = plainError(404, `there is no such agent; ${DIRECTORY_PATH} lists them`);
    return { app: routes.root, request, problem };
  }
  const path = alias === undefined ? below : CARD_PATH;
  return { app, request: { ...request, path, agentPath: `/agents/${id}` } };
}

/** Responds with public content. */
async function dispatchPublic(
  app: App,
  request: HttpRequest,
  admission: Admission,
  respond: () => HttpResponse,
): Promise<HttpResponse> {
  admission.name("card", "listAgents");
  try {
    app.guard.admit(request);
    return isPreflight(request) ? PUBLIC_PREFLIGHT : respond();
  } catch (thrown) {
    return errorResponse(request, admission.toError(thrown));
  }
}

/** Whether the process answers, and whether it takes requests: not while it starts or stops, or its storage fails. */
const PROBE_PATHS: ReadonlySet<string> = new Set(["/health", "/ready"]);

/**
 * Answers the probes of an orchestrator, which know neither the name of the server nor a token.
 * Returns `undefined` for other requests.
 */
export function handleProbe(
  request: HttpRequest,
  readiness: () => Readiness,
): HttpResponse | undefined {
  if (!PROBE_PATHS.has(request.path)) return undefined;
  const notAllowed = allow(request, ["GET", "HEAD"]);
  if (notAllowed !== undefined) return notAllowed;
  const { reason, waitingForHost = 0 } = request.path === "/health" ? {} : readiness();
  const body = {
    ...(reason === undefined ? { status: "ok" } : { status: "unavailable", reason }),
    ...(waitingForHost > 0 && { tasksWaitingForHost: waitingForHost }),
  };
  return jsonResponse(reason === undefined ? 200 : 503, JSON.stringify(body));
}

/** What an orchestrator learns about a process. */
interface Readiness {
  /** Why requests should go elsewhere, if they should. */
  readonly reason?: string | undefined;
  /** How many tasks wait for a host on which no process is up. Others cannot help it. */
  readonly waitingForHost?: number;
}

/** Some clients join an address that ends in a slash and a path that begins with one. */
function withSingleSlashes(request: HttpRequest): HttpRequest {
  const { path } = request;
  return path.includes("//") ? { ...request, path: path.replaceAll(/\/{2,}/g, "/") } : request;
}

/** The paths of JSON-RPC. */
const RPC_PATHS: ReadonlySet<string> = new Set(["/", "/api/a2a"]);

/** No other binding has a POST to these paths. */
function isRpc(request: HttpRequest): boolean {
  return RPC_PATHS.has(request.path) && request.method === "POST" && !isGrpcWeb(request);
}

const METRICS_PATH = "/metrics";

async function dispatch(
  app: App,
  request: HttpRequest,
  admission: Admission,
): Promise<HttpResponse> {
  try {
    if (app.engine.closing.aborted) throw new A2AError("Unavailable", "this agent has stopped");
    if (isPreflight(request)) {
      const preflight = handlePreflight(app, request);
      if (preflight !== undefined) return preflight;
    }
    const document = findDocument(app, request);
    if (document !== undefined) {
      admission.name("card", document.name);
      app.guard.admit(request);
      return allow(request, ["GET", "HEAD"]) ?? (await document.respond());
    }
    if (isGrpc(request)) return await dispatchGrpc(app, request, admission);
    if (isRpc(request)) {
      const caller = await admission.identify();
      return await handleJsonRpc(app, request, { caller, admission });
    }
    if (isConsolePath(request) || (app.console !== undefined && isVisit(request))) {
      return await dispatchConsole(app, request, admission);
    }
    const coder = matchCoder(app.agent.definition, request);
    if (coder !== undefined) return await handleCoder(app, coder, admission);
    const inbound = matchInbound(request);
    if (inbound !== undefined) return await handleInbound(app, inbound, admission);
    const rest = matchRest(request);
    if (rest !== undefined) {
      return await handleRest(app, rest, admission);
    }
    const file = linkedFile(app, request);
    if (file !== undefined) {
      admission.name("convoke", "readFile");
      app.guard.admit(request);
      return allow(request, ["GET", "HEAD"]) ?? (await sendFile(app, file, request));
    }
    const caller = await admission.identify();
    const admin = matchAdmin(app, request) ?? matchFile(request);
    const other = request.path === METRICS_PATH ? "readMetrics" : "other";
    admission.name("convoke", admin?.name ?? other);
    await admission.count(["GET", "HEAD"].includes(request.method) ? "read" : "write");
    if (isGrpcWeb(request)) throw grpcWebNotSupported();
    if (RPC_PATHS.has(request.path)) return methodNotAllowed(request, ["POST"]);
    if (admin !== undefined) {
      const methods = admin.methods ?? [admin.method];
      return allow(request, methods) ?? (await admin.handle(app, request, caller));
    }
    const isMetrics = request.path === METRICS_PATH && request.agentPath === undefined;
    if (isMetrics && app.metricsText !== undefined) {
      return allow(request, ["GET", "HEAD"]) ?? serveMetrics(app, app.metricsText, caller);
    }
    const place = request.basePath + (request.agentPath ?? "");
    return plainError(
      404,
      `there is nothing at ${place}${request.path}; the card is at ${place}${CARD_PATH}`,
    );
  } catch (thrown) {
    return errorResponse(request, admission.toError(thrown));
  }
}

/** The files of the console are public, as the card is: they contain no data. */
async function dispatchConsole(
  app: App,
  request: HttpRequest,
  admission: Admission,
): Promise<HttpResponse> {
  admission.name("convoke", "console");
  app.guard.admit(request);
  const notAllowed = allow(request, ["GET", "HEAD"]);
  if (notAllowed !== undefined) return notAllowed;
  if (isVisit(request)) return redirectToConsole(request);
  const found = app.console && (await handleConsole(app.console, request));
  return found ?? plainError(404, "there is no console here, or no such file of it");
}

/** A description of an agent that needs no authentication. */
interface PublicDocument {
  /** Its name in metrics. */
  readonly name: string;
  respond(): HttpResponse | Promise<HttpResponse>;
}

/** The description of all requests, for tools that generate clients. */
const OPENAPI_PATH = "/openapi.json";

function findDocument(app: App, request: HttpRequest): PublicDocument | undefined {
  const { card, protectedResource } = app;
  if (CARD_PATHS.has(request.path)) {
    return { name: "getCard", respond: () => enabled(app, () => card.handle(request)) };
  }
  if (request.path === OPENAPI_PATH) {
    return { name: "getOpenApi", respond: () => enabled(app, serveOpenApi) };
  }
  if (request.path === KEYS_PATH) return { name: "getKeys", respond: () => card.keySet() };
  if (request.path === RESOURCE_PATH && protectedResource !== undefined) {
    return { name: "getProtectedResource", respond: () => protectedResource(request) };
  }
  return undefined;
}

/** An agent that is disabled has neither a card nor a description. */
function enabled(app: App, respond: () => Promise<HttpResponse>): Promise<HttpResponse> {
  app.agent.requireEnabled();
  return respond();
}

/** The document is generated on first use: few clients read it. */
async function serveOpenApi(): Promise<HttpResponse> {
  const { openApiText } = await import("./openapi/document.ts");
  return jsonResponse(200, openApiText(), {
    "cache-control": "public, max-age=300",
    "access-control-allow-origin": "*",
  });
}

function serveMetrics(app: App, text: () => string, caller: Caller): HttpResponse {
  if (!app.isOperator(caller)) {
    throw new A2AError("Forbidden", "metrics are for operators", {
      details: { reason: "forbidden" },
    });
  }
  const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };
  return { status: 200, headers, body: text() };
}

/** The modules are loaded on first use, so that servers without gRPC clients start faster. */
async function dispatchGrpc(
  app: App,
  request: HttpRequest,
  admission: Admission,
): Promise<HttpResponse> {
  if (request.path.startsWith("/grpc.")) {
    const { handleGrpcTools } = await import("./bindings/grpc/tools.ts");
    return handleGrpcTools(app, request, admission);
  }
  const { handleGrpc } = await import("./bindings/grpc/handle.ts");
  return handleGrpc(app, request, admission);
}

/** Paths that need no authentication. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  ...CARD_PATHS,
  KEYS_PATH,
  OPENAPI_PATH,
  RESOURCE_PATH,
]);

/** Handles a CORS preflight request, which has no token. */
function handlePreflight(app: App, request: HttpRequest): HttpResponse | undefined {
  if (PUBLIC_PATHS.has(request.path)) {
    app.guard.admit(request);
    return PUBLIC_PREFLIGHT;
  }
  app.guard.admitPage(request);
  return app.cors.preflight(request);
}

/** Returns a 405 response if the path does not support the method. */
function allow(request: HttpRequest, methods: readonly string[]): HttpResponse | undefined {
  return methods.includes(request.method) ? undefined : methodNotAllowed(request, methods);
}

function methodNotAllowed(request: HttpRequest, methods: readonly string[]): HttpResponse {
  const list = methods.join(", ");
  return plainError(405, `${request.path} takes ${list}`, { allow: list });
}

/** The response for paths that belong to no binding, so that no error format is defined. */
function plainError(status: number, message: string, headers?: HttpHeaders): HttpResponse {
  return jsonResponse(status, JSON.stringify({ error: { code: status, message } }), headers);
}

/** Errors of the guard use the format of JSON-RPC, the default binding. */
export function errorResponse(request: HttpRequest, error: A2AError): HttpResponse {
  const text = errorText(null, codecFor(request).encodeError(error));
  return jsonResponse(error.row.http, text, retryHeaders(error));
}

/** Whether the request uses gRPC, which has suffixes such as `+proto`. */
function isGrpc(request: HttpRequest): boolean {
  return /^application\/grpc(?:$|[+;\s])/i.test(header(request, "content-type") ?? "");
}

/** gRPC-Web has other frames than gRPC, and trailers in its body. */
function isGrpcWeb(request: HttpRequest): boolean {
  const type = header(request, "content-type")?.toLowerCase();
  return type?.startsWith("application/grpc-web") === true;
}

function grpcWebNotSupported(): A2AError {
  return new A2AError("UnsupportedMediaType", "gRPC-Web is not supported; use gRPC or JSON", {
    field: "Content-Type",
  });
}
