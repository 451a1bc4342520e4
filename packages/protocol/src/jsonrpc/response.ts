import type { JsonRpcError } from "../wire/codec.ts";
import type { JsonRpcId } from "./request.ts";

/**
 * What stands before a result. Only this differs between the readers of one
 * stream, so the result itself is serialised once for all of them.
 */
export function resultPrefix(id: JsonRpcId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}

/** A whole answer around a result that is JSON text already. */
export function resultText(id: JsonRpcId, result: string): string {
  return `${resultPrefix(id)}${result}}`;
}

export function errorText(id: JsonRpcId, error: JsonRpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}
