import { A2AError, CODECS, type ProtocolVersion, type SpecPatch } from "@convoke/protocol";
import type { HttpHeaders, HttpResponse } from "../../http/exchange.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { answerType } from "./media-types.ts";
import type { OpenedRest } from "./open.ts";

/** In whose words an error is told: those of the path's version, with the statuses of one edition. */
interface ErrorWords {
  readonly version: ProtocolVersion;
  readonly specPatch: SpecPatch;
}

/** An error as an answer. */
export function errorResponse(
  error: A2AError,
  { request, version }: OpenedRest,
  specPatch: SpecPatch,
): HttpResponse {
  const words = { version, specPatch };
  return jsonResponse(statusesOf(error, words).http, errorText(error, words), {
    "content-type": answerType(request, version),
    ...headersOf(error),
  });
}

/** The path is known, and the method is another. */
export function methodNotAllowed({ request, version, methods }: OpenedRest): HttpResponse {
  const allow = methods.join(", ");
  const error = new A2AError("MethodNotFound", `${request.path} takes ${allow}`, {
    details: { method: request.method },
  });
  return jsonResponse(405, textOf(error, version, { http: 405, grpc: error.row.grpc }), {
    "content-type": answerType(request, version),
    allow,
  });
}

/** An error as JSON text, also for the middle of a stream. */
export function errorText(error: A2AError, words: ErrorWords): string {
  return textOf(error, words.version, statusesOf(error, words));
}

interface Statuses {
  readonly http: number;
  readonly grpc: string;
}

/** Only 1.0 has a table of statuses, and so editions of it. */
function statusesOf(error: A2AError, { version, specPatch }: ErrorWords): Statuses {
  return version === "1.0" ? error.statuses(specPatch) : error.row;
}

/** 1.0 §11.6: a google.rpc.Status. 0.3 has no shape of its own; its SDKs send that of JSON-RPC, bare. */
function textOf(error: A2AError, version: ProtocolVersion, { http, grpc }: Statuses): string {
  const { code, message, data } = CODECS[version].encodeError(error);
  return JSON.stringify(
    version === "1.0"
      ? { error: { code: http, status: grpc, message, details: data } }
      : { code, message, data },
  );
}

function headersOf({ reason }: A2AError): HttpHeaders {
  if (reason === "Unavailable") return { "retry-after": "1" };
  if (reason === "Unauthenticated") return { "www-authenticate": 'Bearer realm="convoke"' };
  return {};
}
