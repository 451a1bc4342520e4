import type { HttpHeaders, HttpResponse } from "./exchange.ts";

/** An answer whose body is JSON text already. */
export function jsonResponse(
  status: number,
  text: string,
  headers: HttpHeaders = {},
): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: text };
}
