import type { A2AError } from "../../errors.ts";
import type { JsonRpcError } from "../codec.ts";

/** 0.3 §8: `data` is free, so it is one plain object that says why, where and which. */
export function encodeError(error: A2AError): JsonRpcError {
  const { detail, field, details } = error;
  const data = { reason: detail, ...(field !== undefined && { field }), ...details };
  return { code: error.row.code, message: error.message, data };
}
