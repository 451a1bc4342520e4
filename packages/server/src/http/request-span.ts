import { type A2AError, type OperationName, REST_ROUTES } from "@convoke/protocol";
import {
  type Span,
  type SpanAttributes,
  activeTrace,
  isTracing,
  startSpan,
} from "@convoke/engine/tracing";
import {
  type ByteStream,
  type HttpRequest,
  type HttpResponse,
  clientTrace,
  header,
} from "./exchange.ts";

/**
 * Starts the span of a request, by the HTTP conventions of OpenTelemetry. It continues the trace of
 * the client, unless instrumentation of the HTTP server has done so already. Without an SDK, the
 * request stays as it is.
 */
export function withSpan(request: HttpRequest): HttpRequest {
  if (!isTracing()) return request;
  const span = startSpan(request.method, {
    kind: "server",
    parent: activeTrace() === undefined ? clientTrace(request) : undefined,
    attributes: () => ({
      "http.request.method": request.method,
      "url.scheme": request.isSecure ? "https" : "http",
      "url.path": request.basePath + request.path,
      ...serverAddress(header(request, "host")),
      "network.protocol.version": request.isHttp2 ? "2" : "1.1",
      "user_agent.original": header(request, "user-agent"),
      "a2a.request.id": request.id,
    }),
  });
  return span === undefined ? request : { ...request, span };
}

function serverAddress(host = ""): SpanAttributes {
  const port = /:(\d+)$/.exec(host);
  return port === null
    ? { "server.address": host }
    : { "server.address": host.slice(0, port.index), "server.port": Number(port[1]) };
}

interface RequestName {
  readonly binding: string;
  readonly operation: string;
}

/** Adds the route and the operation, which are known once the request is read. */
export function nameSpan(span: Span, request: HttpRequest, name: RequestName): void {
  const route = routeFor(request, name);
  if (route !== undefined) span.rename(`${request.method} ${route}`);
  span.set(() => ({
    "http.route": route,
    "a2a.binding": name.binding,
    "a2a.operation": name.operation,
  }));
}

/** An id in a path of our own, such as `/convoke/tasks/0198f3c2-…/log`. */
const CONVOKE_ID = /^(\/convoke\/\w+\/)[^/:]+/;

/** The path with names in the place of ids; `undefined` if it is none that the server knows. */
function routeFor(
  { path, basePath, agentPath = "" }: HttpRequest,
  { binding, operation }: RequestName,
): string | undefined {
  if (operation === "other") return undefined;
  const place = basePath + agentPath;
  if (binding === "convoke") return place + path.replace(CONVOKE_ID, "$1{id}");
  if (binding !== "rest") return place + path;
  const { paths } = REST_ROUTES[operation as OperationName];
  return place + paths[path.startsWith("/v1/") ? "0.3" : "1.0"];
}

/** Ends the span with the response: at once, or when its stream ends. */
export function endSpanWith(
  span: Span,
  response: HttpResponse,
  error: A2AError | undefined,
): HttpResponse {
  const { status, body } = response;
  // JSON-RPC and gRPC answer errors with status 200.
  const isFault = (error?.row.http ?? status) >= 500;
  span.set(() => ({
    "http.response.status_code": status,
    ...(error && { "a2a.error": error.reason }),
  }));
  if (typeof body === "string" || body instanceof Uint8Array) {
    span.end(isFault ? (error?.reason ?? String(status)) : undefined);
    return response;
  }
  return { ...response, body: endedBy(body, span) };
}

const DISCONNECTED = "client_disconnected";

function endedBy(stream: ByteStream, span: Span): ByteStream {
  return {
    abandon: () => span.end(DISCONNECTED),
    open(sink) {
      const control = stream.open({
        write: (piece) => sink.write(piece),
        end: () => {
          span.end();
          sink.end();
        },
        abort: () => {
          span.end("content_failed");
          sink.abort();
        },
      });
      return {
        drained: () => control.drained(),
        flush: () => control.flush?.(),
        closed: () => {
          span.end(DISCONNECTED);
          control.closed();
        },
      };
    },
  };
}
