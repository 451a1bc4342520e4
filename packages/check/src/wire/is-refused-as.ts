import { type ErrorReason, ERRORS, GRPC_STATUS, type ProtocolVersion } from "@convoke/protocol";
import type { WireError } from "./wire-error.ts";

interface Row {
  readonly http: number;
  readonly grpc: string;
  readonly patch0?: { readonly http?: number; readonly grpc?: string };
}

/**
 * Whether an error means that. Where the binding has no name for errors its status has to do, as
 * either edition of 1.0 gives it: 1.0.0 and 1.0.1 differ, and a server may follow either (§5.4).
 */
export function isRefusedAs(
  error: WireError,
  reason: ErrorReason,
  version: ProtocolVersion,
): boolean {
  if (error.reason !== undefined) return error.reason === reason;
  const row: Row = ERRORS[reason];
  if (error.grpc !== undefined) {
    const status = GRPC_STATUS[error.grpc] ?? "";
    // 0.3 names no status for any error, so only the two that nobody could mistake are judged.
    if (version === "0.3" && reason !== "TaskNotFound") return !OPAQUE.includes(status);
    return status === row.grpc || status === row.patch0?.grpc;
  }
  return error.http === row.http || error.http === row.patch0?.http;
}

/** The statuses that say only that something went wrong. */
const OPAQUE = ["OK", "UNKNOWN", "INTERNAL"];

/** How the error would look, for people. */
export function describeReason(reason: ErrorReason): string {
  const { code, http, grpc }: Row & { readonly code: number } = ERRORS[reason];
  return `${reason} (JSON-RPC ${code}, HTTP ${http}, gRPC ${grpc})`;
}
