import type { HttpCall } from "./http-client.ts";

/** The method that a call goes by. */
export function methodOf({ method, body }: HttpCall): NonNullable<HttpCall["method"]> {
  return method ?? (body === undefined ? "GET" : "POST");
}
