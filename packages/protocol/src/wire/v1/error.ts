import type { A2AError } from "../../errors.ts";
import type { JsonRpcError } from "../codec.ts";

const DOMAIN = "a2a-protocol.org";

/** 1.0 §9.5: `data` is a list of typed details; ErrorInfo always, BadRequest where a field is at fault. */
export function encodeError(error: A2AError): JsonRpcError {
  const { reason, detail, field, details } = error;
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: upperSnake(reason),
    domain: DOMAIN,
    metadata: details,
  };
  const data =
    field === undefined
      ? [info]
      : [
          info,
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            fieldViolations: [{ field, description: detail }],
          },
        ];
  return { code: error.row.code, message: error.message, data };
}

/** TaskNotFound is TASK_NOT_FOUND. */
function upperSnake(reason: string): string {
  return reason.replaceAll(/(?<!^)(?=[A-Z])/g, "_").toUpperCase();
}
