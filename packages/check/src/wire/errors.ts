import { ERRORS, type ErrorReason, GRPC_STATUS, type ProtocolVersion } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { listAt, textAt } from "./json.ts";

/** An error as its binding spells it. */
export interface WireError {
  readonly message: string;
  /** What it means, if the binding says so unambiguously. */
  readonly reason: ErrorReason | undefined;
  /** The JSON-RPC code. */
  readonly code?: number;
  /** The HTTP status. */
  readonly http?: number;
  /** The gRPC status. */
  readonly grpc?: number;
  /** The typed details of 1.0. */
  readonly details: readonly unknown[];
}

interface ErrorRow {
  readonly code: number;
  readonly http: number;
  readonly grpc: string;
  /** What the first edition of 1.0 says instead. */
  readonly patch0?: { readonly http?: number; readonly grpc?: string };
}

/** The gRPC statuses that only say that something went wrong. */
const OPAQUE_STATUSES = ["OK", "UNKNOWN", "INTERNAL"];

/**
 * Whether an error has that reason. If the binding has no names for errors, its status decides, as
 * either edition of 1.0 lists it: 1.0.0 and 1.0.1 differ, and a server may follow either (§5.4).
 */
export function hasReason(
  error: WireError,
  reason: ErrorReason,
  version: ProtocolVersion,
): boolean {
  if (error.reason !== undefined) return error.reason === reason;
  const row: ErrorRow = ERRORS[reason];
  if (error.grpc !== undefined) {
    const status = GRPC_STATUS[error.grpc] ?? "";
    // 0.3 assigns no statuses to errors, so only the unmistakable one is required.
    if (version === "0.3" && reason !== "TaskNotFound") return !OPAQUE_STATUSES.includes(status);
    return status === row.grpc || status === row.patch0?.grpc;
  }
  return error.http === row.http || error.http === row.patch0?.http;
}

/** The spellings of an error on all bindings, for reports. */
export function describeReason(reason: ErrorReason): string {
  const { code, http, grpc }: ErrorRow = ERRORS[reason];
  return `${reason} (JSON-RPC ${code}, HTTP ${http}, gRPC ${grpc})`;
}

const REASONS = Object.keys(ERRORS) as readonly ErrorReason[];

/** The reason in typed details: TASK_NOT_FOUND is TaskNotFound. */
export function reasonInDetails(details: readonly unknown[]): ErrorReason | undefined {
  const written = textAt(errorInfoIn(details), "reason").replaceAll("_", "").toLowerCase();
  return REASONS.find((reason) => reason.toLowerCase() === written);
}

/** The `google.rpc.ErrorInfo` among the details. */
export function errorInfoIn(details: readonly unknown[]): unknown {
  return details.find((detail) => textAt(detail, "@type").endsWith("google.rpc.ErrorInfo"));
}

/** Reads a JSON-RPC error object, which REST 0.3 also uses, without the envelope. */
export function parseRpcError(error: unknown, http?: number): WireError {
  const code = isObject(error) ? error["code"] : undefined;
  return {
    message: textAt(error, "message"),
    reason: authReason(http) ?? REASONS.find((reason) => ERRORS[reason].code === code),
    ...(typeof code === "number" && { code }),
    ...(http !== undefined && { http }),
    details: listAt(error, "data"),
  };
}

/** The reason behind a 401 or 403. The status decides, whatever the body says. */
export function authReason(http: number | undefined): ErrorReason | undefined {
  if (http === 401) return "Unauthenticated";
  return http === 403 ? "Forbidden" : undefined;
}
