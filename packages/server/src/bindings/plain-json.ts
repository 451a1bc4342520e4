import { invalidParams } from "@convoke/protocol";
import { type HttpResponse, jsonResponse } from "../http/exchange.ts";

/** The errors of routes that are not part of A2A. */
export function errorJson(
  status: number,
  error: string,
  headers: HttpResponse["headers"],
): HttpResponse {
  return jsonResponse(status, JSON.stringify({ error }), headers);
}

/** The id of a task in a path. */
export function decodeTaskId(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalidParams("taskId", "is not percent-encoded UTF-8 in the path");
  }
}
