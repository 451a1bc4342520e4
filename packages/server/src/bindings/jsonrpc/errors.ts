import { type A2AError, type Codec, type JsonRpcId, errorText } from "@convoke/protocol";
import type { HttpHeaders, HttpResponse } from "../../http/exchange.ts";
import { jsonResponse } from "../../http/json-response.ts";

/** JSON-RPC errors travel as 200; what the transport refuses keeps its status. */
export function errorResponse(
  error: A2AError,
  { id, codec }: { readonly id: JsonRpcId; readonly codec: Codec },
): HttpResponse {
  const { transport, http } = error.row;
  const headers: HttpHeaders = error.reason === "Unavailable" ? { "retry-after": "1" } : {};
  const text = errorText(id, codec.encodeError(error));
  return jsonResponse(transport === true ? http : 200, text, headers);
}
