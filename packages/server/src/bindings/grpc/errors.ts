import {
  type A2AError,
  CODECS,
  GRPC_STATUS,
  type ProtocolVersion,
  type SpecPatch,
} from "@convoke/protocol";
import { encodeStatusDetails } from "@convoke/protocol/grpc";
import type { HttpHeaders } from "../../http/exchange.ts";

/** The trailers of a successful call. */
export const OK_TRAILERS: HttpHeaders = { "grpc-status": "0" };

/** The trailers of a failed call: its status and, in 1.0, details (1.0 §10.6). */
export function errorTrailers(
  error: A2AError,
  version: ProtocolVersion,
  patch: SpecPatch,
): HttpHeaders {
  // 0.3 defines no gRPC status codes; its SDKs use the ones of 1.0.0.
  const { grpc } = error.statuses(version === "0.3" ? "1.0.0" : patch);
  const code = GRPC_STATUS.indexOf(grpc);
  const { message, data } = CODECS["1.0"].encodeError(error);
  const details = Array.isArray(data) ? (data as readonly object[]) : [];
  const status = encodeStatusDetails({ code, message, details });
  return {
    "grpc-status": String(code),
    "grpc-message": encodeMessage(message),
    ...(version === "1.0" && {
      "grpc-status-details-bin": Buffer.from(status).toString("base64").replace(/=+$/, ""),
    }),
  };
}

/** Percent-encodes everything except printable ASCII (gRPC over HTTP/2, "Status-Message"). */
function encodeMessage(message: string): string {
  return Buffer.from(message)
    .toString("latin1")
    .replace(
      /[^\x20-\x24\x26-\x7e]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    );
}
