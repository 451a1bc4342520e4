import {
  A2AError,
  type Caller,
  type Codec,
  type JsonRpcId,
  errorText,
  idOf,
  openRequest,
  resultPrefix,
  resultText,
} from "@convoke/protocol";
import { type Activation, NOTHING_ACTIVE, activate, echoed } from "../activation.ts";
import { scopedCaller, tenantOf } from "../../guard/tenant.ts";
import { type HttpRequest, type HttpResponse, header } from "../../http/exchange.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { parseJson } from "../../http/parse-json.ts";
import { requestedVersion } from "../../http/requested-version.ts";
import { requestTrace } from "../../http/trace-context.ts";
import type { EventSource } from "@convoke/engine";
import { PERFORM } from "../operation-table.ts";
import type { App } from "../../app.ts";
import { EventStream } from "../event-stream.ts";
import { SSE_HEADERS, SseFraming } from "../sse-framing.ts";
import { errorResponse } from "./errors.ts";
import { codecFor, openMethod } from "./open.ts";
import { acceptLegacyRequest } from "./legacy-request.ts";

/** What is known of a request so far; an error is answered in its words. */
interface Known {
  id: JsonRpcId;
  codec: Codec;
  activation: Activation;
}

/** JSON-RPC 2.0 over HTTP, for both wire versions (0.3 §3.2.1, 1.0 §9). */
export async function handleJsonRpc(
  app: App,
  request: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  const known: Known = { id: null, codec: codecFor(request), activation: NOTHING_ACTIVE };
  const response = await answerTo(app, request, { caller, known });
  return echoed(response, known.activation);
}

async function answerTo(
  app: App,
  request: HttpRequest,
  { caller, known }: { readonly caller: Caller; readonly known: Known },
): Promise<HttpResponse> {
  try {
    checkContentType(header(request, "content-type"));
    const body = parseJson(await request.body());
    known.id = idOf(body);
    const envelope = openRequest(body);
    const scoped = scopedCaller(caller, tenantOf(envelope.params), app.tenants);
    const opened = app.isStrict
      ? envelope
      : await acceptLegacyRequest(
          envelope,
          { engine: app.engine, caller: scoped },
          header(request, "accept"),
        );
    const { operation, codec } = openMethod(opened, requestedVersion(request), app.isStrict);
    known.codec = codec;
    const { version } = codec;
    known.activation = await activate(app, { request, caller: scoped, version });
    const outcome = await PERFORM[operation](opened.params, codec, {
      engine: app.engine,
      extendedCard: app.extendedCardFor(request),
      caller: scoped,
      version,
      extensions: known.activation.extensions,
      trace: requestTrace(request),
      lastEventId: header(request, "last-event-id"),
    });
    return outcome.kind === "value"
      ? jsonResponse(200, resultText(known.id, JSON.stringify(outcome.value)))
      : streamResponse(app, outcome.source, known);
  } catch (thrown) {
    return errorResponse(app.explain(thrown), known);
  }
}

function streamResponse(app: App, source: EventSource, { id, codec }: Known): HttpResponse {
  const framing = new SseFraming({
    codec,
    prefix: resultPrefix(id),
    suffix: "}",
    errorText: (thrown) => errorText(id, codec.encodeError(app.explain(thrown))),
  });
  const body = new EventStream({ source, framing, keepAlive: app.keepAlive });
  return { status: 200, headers: SSE_HEADERS, body };
}

function checkContentType(contentType: string | undefined): void {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type === "application/json") return;
  const given = type === undefined ? "the request has no Content-Type" : `Content-Type is ${type}`;
  throw new A2AError("UnsupportedMediaType", `${given}; it must be application/json`, {
    field: "Content-Type",
  });
}
