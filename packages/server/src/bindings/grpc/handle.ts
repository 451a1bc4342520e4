import type { Caller } from "@convoke/protocol";
import type { App } from "../../app.ts";
import { activate, echoed, NOTHING_ACTIVE } from "../activation.ts";
import { scopedCaller, tenantOf } from "../../guard/tenant.ts";
import { type HttpRequest, type HttpResponse, header } from "../../http/exchange.ts";
import { requestTrace } from "../../http/trace-context.ts";
import type { EventSource } from "@convoke/engine";
import { PERFORM } from "../operation-table.ts";
import { EventStream } from "../event-stream.ts";
import { OK_TRAILERS, errorTrailers } from "./errors.ts";
import { CURSOR, GrpcFraming } from "./grpc-framing.ts";
import { frameMessage, openMessage } from "./message-frames.ts";
import { type OpenedGrpc, grpcVersionOf, openGrpc } from "./open.ts";

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
    const params = method.decodeRequest(openMessage(await request.body()));
    const caller = scopedCaller(identified, tenantOf(params), app.tenants);
    activation = await activate(app, { request, caller, version: codec.version });
    const outcome = await PERFORM[method.operation](params, codec, {
      engine: app.engine,
      extendedCard: app.extendedCardFor(request),
      caller,
      version: codec.version,
      extensions: activation.extensions,
      trace: requestTrace(request),
      lastEventId: header(request, CURSOR),
    });
    const response =
      outcome.kind === "events"
        ? streamResponse(app, outcome.source, opened)
        : unaryResponse(method.encodeResponse(outcome.value));
    return echoed(response, activation);
  } catch (thrown) {
    const trailers = errorTrailers(app.explain(thrown), grpcVersionOf(request), app.specPatch);
    const refused = { status: 200, headers: HEADERS, body: "", trailers: () => trailers };
    return echoed(refused, activation);
  }
}

function unaryResponse(message: Uint8Array): HttpResponse {
  return {
    status: 200,
    headers: HEADERS,
    body: frameMessage(message),
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
