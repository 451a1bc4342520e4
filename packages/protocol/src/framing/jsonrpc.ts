import { A2AError } from "../model/errors.ts";

/** A JSON-RPC id. 0, "" and null are ids like any other. */
export type JsonRpcId = string | number | null;

export interface JsonRpcRequest {
  /** Absent if the request has none: that is checked last, so that an error in the request itself comes first. */
  readonly id: JsonRpcId | undefined;
  readonly method: string;
  readonly params: unknown;
}

/** The error object of JSON-RPC 2.0. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Checks the envelope of a parsed body, except that it has an id. Throws an `InvalidRequest` error that names the problem. */
export function parseRequest(body: unknown): JsonRpcRequest {
  if (Array.isArray(body)) throw invalid("batches are not supported, send one request");
  if (typeof body !== "object" || body === null) throw invalid("the body must be a JSON object");
  const { jsonrpc, id, method, params } = body as Readonly<Record<string, unknown>>;
  if (jsonrpc !== "2.0") throw invalid('jsonrpc must be "2.0"', "jsonrpc");
  if (typeof method !== "string") throw invalid("method must be a string", "method");
  if (id !== undefined && !isId(id)) throw invalidId();
  return { id, method, params };
}

/** Rejects a request without an id: notifications are not supported. */
export function checkId({ id }: JsonRpcRequest): void {
  if (id === undefined) throw invalidId();
}

/** The id to echo in an error about a body that `parseRequest` rejected. */
export function idOf(body: unknown): JsonRpcId {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return isId(id) ? id : null;
}

function isId(value: unknown): value is JsonRpcId {
  return typeof value === "string" || Number.isFinite(value) || value === null;
}

function invalidId(): A2AError {
  return invalid("id must be a string or a number", "id");
}

function invalid(detail: string, field?: string): A2AError {
  return new A2AError("InvalidRequest", detail, field === undefined ? {} : { field });
}

/**
 * The text of a response before its result. Only this differs between the readers of one stream, so
 * the result itself is serialized once for all of them.
 */
export function resultPrefix(id: JsonRpcId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}

/** The response to a request that succeeded. Serialized at once, because a result may be large. */
export function resultText(id: JsonRpcId, result: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

/** The response to a request that failed. */
export function errorText(id: JsonRpcId, error: JsonRpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}
