import { ERRORS, type ErrorReason } from "@convoke/protocol";
import { isObject, listAt, textAt } from "./json.ts";

/** How a server said no, as its binding spells it. */
export interface WireError {
  readonly message: string;
  /** What it means, where the binding says so without doubt. */
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

const REASONS = Object.keys(ERRORS) as readonly ErrorReason[];

/** The reason that a JSON-RPC code stands for. */
function reasonOfCode(code: unknown): ErrorReason | undefined {
  return REASONS.find((reason) => ERRORS[reason].code === code);
}

/** The reason in typed details: TASK_NOT_FOUND is TaskNotFound. */
export function reasonInDetails(details: readonly unknown[]): ErrorReason | undefined {
  const written = textAt(errorInfoIn(details), "reason").replaceAll("_", "").toLowerCase();
  return REASONS.find((reason) => reason.toLowerCase() === written);
}

/** The `google.rpc.ErrorInfo` among the details. */
export function errorInfoIn(details: readonly unknown[]): unknown {
  return details.find((detail) => textAt(detail, "@type").endsWith("google.rpc.ErrorInfo"));
}

/** The error of JSON-RPC, which REST of 0.3 uses without its envelope. */
export function jsonRpcError(error: unknown, http?: number): WireError {
  const code = isObject(error) ? error["code"] : undefined;
  return {
    message: textAt(error, "message"),
    reason: isTransport(http) ?? reasonOfCode(code),
    ...(typeof code === "number" && { code }),
    ...(http !== undefined && { http }),
    details: listAt(error, "data"),
  };
}

/** Who is refused by the HTTP status is refused for that, whatever is in the body. */
export function isTransport(http: number | undefined): ErrorReason | undefined {
  if (http === 401) return "Unauthenticated";
  return http === 403 ? "Forbidden" : undefined;
}
