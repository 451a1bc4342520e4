import { at, isObject, listAt, textAt } from "./json.ts";
import { type WireError, isTransport, jsonRpcError, reasonInDetails } from "./wire-error.ts";

/** A google.rpc.Status in 1.0 (§11.6); in 0.3 the error of JSON-RPC without its envelope. */
export function restError(body: unknown, http: number | undefined): WireError {
  const status = at(body, "error");
  if (!isObject(status)) return jsonRpcError(body, http);
  const details = listAt(status, "details");
  return {
    message: textAt(status, "message"),
    reason: isTransport(http) ?? reasonInDetails(details),
    ...(http !== undefined && { http }),
    details,
  };
}
