import { A2AError, CODECS, type ProtocolVersion, type SpecPatch } from "@convoke/protocol";
import { type HttpHeaders, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import { responseType } from "./media-types.ts";
import type { MatchedRest } from "./routes.ts";

/** The version that determines the format of an error, and the edition that determines its status. */
interface ErrorFormat {
  readonly version: ProtocolVersion;
  readonly specPatch: SpecPatch;
}

/** An error as a response. */
export function errorResponse(
  error: A2AError,
  { request, version }: MatchedRest,
  specPatch: SpecPatch,
): HttpResponse {
  const format = { version, specPatch };
  return jsonResponse(statusesFor(error, format).http, errorText(error, format), {
    "content-type": responseType(request, version),
    ...headersFor(error),
  });
}

/** The response to a method that the path does not support. */
export function methodNotAllowed({ request, version, methods }: MatchedRest): HttpResponse {
  const allow = methods.join(", ");
  const error = new A2AError("MethodNotFound", `${request.path} takes ${allow}`, {
    details: { method: request.method },
  });
  return jsonResponse(405, toText(error, version, { http: 405, grpc: error.row.grpc }), {
    "content-type": responseType(request, version),
    allow,
  });
}

/** An error as JSON, also used within a stream. */
export function errorText(error: A2AError, format: ErrorFormat): string {
  return toText(error, format.version, statusesFor(error, format));
}

interface Statuses {
  readonly http: number;
  readonly grpc: string;
}

/** Only 1.0 has a table of status codes, with several editions. */
function statusesFor(error: A2AError, { version, specPatch }: ErrorFormat): Statuses {
  return version === "1.0" ? error.statuses(specPatch) : error.row;
}

/** A google.rpc.Status in 1.0 (§11.6). 0.3 defines no format; its SDKs send the error object of JSON-RPC. */
function toText(error: A2AError, version: ProtocolVersion, { http, grpc }: Statuses): string {
  const { code, message, data } = CODECS[version].encodeError(error);
  return JSON.stringify(
    version === "1.0"
      ? { error: { code: http, status: grpc, message, details: data } }
      : { code, message, data },
  );
}

function headersFor({ reason }: A2AError): HttpHeaders {
  if (reason === "Unavailable") return { "retry-after": "1" };
  if (reason === "Unauthenticated") return { "www-authenticate": 'Bearer realm="convoke"' };
  return {};
}
