import {
  A2AError,
  type Caller,
  type Codec,
  PROTO_CODECS,
  type ProtocolVersion,
} from "@convoke/protocol";
import type { App } from "../app.ts";
import { NOTHING_ACTIVE, activate, withHeaders } from "../extensions.ts";
import { scopedCaller, parseTenant } from "../../guard/guard.ts";
import { type HttpRequest, type HttpResponse, header } from "../../http/exchange.ts";
import { requestedVersion } from "../../http/request-headers.ts";
import type { EventSource } from "@convoke/engine";
import { performOperation } from "../operations.ts";
import { EventStream } from "../event-stream.ts";
import { CURSOR, GrpcFraming, OK_TRAILERS, errorTrailers, readMessage } from "./grpc-framing.ts";
import { frameGrpcMessage } from "@convoke/protocol/internal";
import { GRPC_SERVICES, type GrpcMethod } from "@convoke/protocol/grpc";

const VERSIONS = ["0.3", "1.0"] as const satisfies readonly ProtocolVersion[];

const HEADERS = { "content-type": "application/grpc+proto" } as const;

/** gRPC over HTTP/2, `a2a.v1` and `lf.a2a.v1` (0.3 §3.2.2, 1.0 §10). */
export async function handleGrpc(
  app: App,
  request: HttpRequest,
  identify: () => Caller,
): Promise<HttpResponse> {
  let activation = NOTHING_ACTIVE;
  try {
    const identified = identify();
    const opened = openGrpc(request);
    const { method, codec } = opened;
    const params = method.decodeRequest(readMessage(await request.body()));
    const caller = scopedCaller(identified, parseTenant(params), app.tenants);
    activation = await activate(app, { request, caller, version: codec.version });
    const outcome = await performOperation(app, {
      operation: method.operation,
      params,
      codec,
      caller,
      activation,
      request,
      lastEventId: header(request, CURSOR),
    });
    const response =
      outcome.kind === "events"
        ? streamResponse(app, outcome.source, opened)
        : unaryResponse(method.encodeResponse(outcome.value));
    return withHeaders(response, activation);
  } catch (thrown) {
    const trailers = errorTrailers(app.toA2AError(thrown), grpcVersionFor(request), app.specPatch);
    const failed = { status: 200, headers: HEADERS, body: "", trailers: () => trailers };
    return withHeaders(failed, activation);
  }
}

function unaryResponse(message: Uint8Array): HttpResponse {
  return {
    status: 200,
    headers: HEADERS,
    body: frameGrpcMessage(message),
    trailers: () => OK_TRAILERS,
  };
}

function streamResponse(
  app: App,
  source: EventSource,
  { method, codec }: OpenedGrpc,
): HttpResponse {
  const framing = new GrpcFraming({ method, codec, app });
  return {
    status: 200,
    headers: HEADERS,
    body: new EventStream({ source, framing, keepAlive: app.keepAlive }),
    trailers: framing.trailers,
  };
}

/** A call whose method and version are known. */
interface OpenedGrpc {
  readonly method: GrpcMethod;
  readonly codec: Codec;
}

/** The version of the service in the path; 1.0 if it is unknown. */
function grpcVersionFor({ path }: HttpRequest): ProtocolVersion {
  return VERSIONS.find((version) => path.startsWith(`/${GRPC_SERVICES[version].name}/`)) ?? "1.0";
}

/** The service determines the version; a header with another version is rejected. */
function openGrpc(request: HttpRequest): OpenedGrpc {
  const version = grpcVersionFor(request);
  if (!request.isHttp2) throw new A2AError("UnsupportedOperation", "gRPC needs HTTP/2");
  const method = GRPC_SERVICES[version].methods.find(({ path }) => path === request.path);
  if (method === undefined || request.method !== "POST") {
    throw new A2AError("MethodNotFound", `there is no method ${request.path}`, {
      details: { method: request.path },
    });
  }
  const asked = requestedVersion(request);
  if (asked !== undefined && asked !== version) {
    throw new A2AError(
      "VersionNotSupported",
      `A2A-Version ${asked} does not fit ${GRPC_SERVICES[version].name}`,
      { details: { requested: asked, supported: version } },
    );
  }
  return { method, codec: PROTO_CODECS[version] };
}
