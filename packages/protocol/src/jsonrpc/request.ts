import { A2AError } from "../errors.ts";

/** A JSON-RPC id. 0, "" and null are ids like any other. */
export type JsonRpcId = string | number | null;

export interface JsonRpcRequest {
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params: unknown;
}

/** Opens the envelope of a parsed body, or says what is wrong with it. */
export function openRequest(body: unknown): JsonRpcRequest {
  if (Array.isArray(body)) throw invalid("batches are not supported, send one request");
  if (typeof body !== "object" || body === null) throw invalid("the body must be a JSON object");
  const { jsonrpc, id, method, params } = body as Readonly<Record<string, unknown>>;
  if (jsonrpc !== "2.0") throw invalid('jsonrpc must be "2.0"', "jsonrpc");
  if (!isId(id)) throw invalid("id must be a string or a number", "id");
  if (typeof method !== "string") throw invalid("method must be a string", "method");
  return { id, method, params };
}

/** The id to echo in an error about a body that could not be opened. */
export function idOf(body: unknown): JsonRpcId {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return isId(id) ? id : null;
}

function isId(value: unknown): value is JsonRpcId {
  return typeof value === "string" || typeof value === "number" || value === null;
}

function invalid(detail: string, field?: string): A2AError {
  return new A2AError("InvalidRequest", detail, field === undefined ? {} : { field });
}
