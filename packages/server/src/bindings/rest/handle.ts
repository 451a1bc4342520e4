import { A2AError, CODECS, type ProtocolVersion, type SpecPatch } from "@convoke/protocol";
import type { App } from "../app.ts";
import { NOTHING_ACTIVE, activate, withHeaders } from "../extensions.ts";
import type { Admission } from "../../guard/admission.ts";
import { scopedCaller } from "../../guard/guard.ts";
import { type HttpResponse, header, jsonResponse, retryHeaders } from "../../http/exchange.ts";
import { type EventStreamSource, LogReader } from "@convoke/engine";
import { performOperation } from "../operations.ts";
import { EventStream } from "../event-stream.ts";
import { SSE_HEADERS, SseFraming } from "../sse.ts";
import { responseType } from "./media-types.ts";
import type { MatchedRest } from "./routes.ts";
import { type RestCall, readRest } from "./read.ts";

/** HTTP+JSON. The paths of 0.3 start with `/v1`, those of 1.0 do not (0.3 §3.2.3, 1.0 §11). */
export async function handleRest(
  app: App,
  opened: MatchedRest,
  admission: Admission,
): Promise<HttpResponse> {
  const { request, version, route } = opened;
  let activation = NOTHING_ACTIVE;
  admission.name("rest", route?.operation ?? "other");
  try {
    const identified = await admission.identify();
    await admission.start("rest", route?.operation);
    if (route === undefined) return methodNotAllowed(opened, app);
    const call = await readRest(opened, route, app.isStrict);
    const caller = scopedCaller(identified, call.tenant, app.tenants);
    activation = await activate(app, { request, caller, version });
    const { operation, params, codec } = call;
    const lastEventId = header(request, "last-event-id");
    const given = { operation, params, codec, caller, activation, request, lastEventId };
    const outcome = await performOperation(app, given);
    if (outcome.kind === "events") {
      return withHeaders(streamResponse(app, outcome.source, call), activation);
    }
    const response =
      route.empty === undefined
        ? jsonResponse(200, JSON.stringify(outcome.value), {
            "content-type": responseType(request, version),
          })
        : { status: route.empty, headers: {}, body: "" };
    return withHeaders(response, activation);
  } catch (thrown) {
    return withHeaders(errorResponse(app, admission.toError(thrown), opened), activation);
  }
}

/** Streams events without an envelope. */
function streamResponse(app: App, source: EventStreamSource, { codec }: RestCall): HttpResponse {
  const { specPatch, isStrict } = app;
  const format = { version: codec.version, specPatch, isStrict };
  const framing = new SseFraming({
    codec,
    prefix: "",
    suffix: "",
    ...(app.restFrames === "both" && codec.dialect === "0.3" && { convert: withResult }),
    errorText: (thrown) => errorText(app.toA2AError(thrown), format),
  });
  const body = new EventStream({
    source,
    reader: new LogReader(source),
    framing,
    keepAlive: app.keepAlive,
  });
  return { status: 200, headers: SSE_HEADERS, body };
}

/**
 * Adds the fields of a JSON-RPC response to an event, for clients that read `result` on every
 * binding. The `id` of a task is its own.
 */
function withResult(event: string): string {
  const id = event.startsWith('{"kind":"task"') ? "" : ',"id":null';
  return `${event.slice(0, -1)},"jsonrpc":"2.0"${id},"result":${event}}`;
}

/** What determines the format of an error. */
interface ErrorFormat {
  readonly version: ProtocolVersion;
  /** The edition of 1.0 that determines the status. */
  readonly specPatch: SpecPatch;
  readonly isStrict: boolean;
}

/** An error as a response. */
export function errorResponse(
  { specPatch, isStrict }: Pick<App, "specPatch" | "isStrict">,
  error: A2AError,
  { request, version }: MatchedRest,
): HttpResponse {
  const format = { version, specPatch, isStrict };
  return jsonResponse(statusesFor(error, format).http, errorText(error, format), {
    "content-type": responseType(request, version),
    ...retryHeaders(error),
  });
}

/** The response to a method that the path does not support. */
function methodNotAllowed(
  { request, version, methods }: MatchedRest,
  { specPatch, isStrict }: App,
): HttpResponse {
  const allow = methods.join(", ");
  const error = new A2AError("MethodNotFound", `${request.path} takes ${allow}`, {
    details: { method: request.method },
  });
  const format = { version, specPatch, isStrict };
  return jsonResponse(405, toText(error, format, { http: 405, grpc: error.row.grpc }), {
    "content-type": responseType(request, version),
    allow,
  });
}

/** An error as JSON, also used within a stream. */
function errorText(error: A2AError, format: ErrorFormat): string {
  return toText(error, format, statusesFor(error, format));
}

interface Statuses {
  readonly http: number;
  readonly grpc: string;
}

/** Only 1.0 has a table of status codes, with several editions. */
function statusesFor(error: A2AError, { version, specPatch }: ErrorFormat): Statuses {
  return version === "1.0" ? error.statuses(specPatch) : error.row;
}

/**
 * A google.rpc.Status in 1.0 (§11.6). 0.3 defines no format: its SDKs read the error object of
 * JSON-RPC, other clients the same object in `error`, so both are in one body.
 */
function toText(error: A2AError, format: ErrorFormat, { http, grpc }: Statuses): string {
  const { version, isStrict } = format;
  const { code, message, data } = CODECS[version].encodeError(error);
  if (version === "1.0") {
    return JSON.stringify({ error: { code: http, status: grpc, message, details: data } });
  }
  const bare = { code, message, data };
  return JSON.stringify(isStrict ? bare : { error: bare, ...bare });
}
