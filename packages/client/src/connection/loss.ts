import { ClientError, RemoteError } from "@convoke/protocol";

/** Whether another attempt may succeed: the connection was lost, or the agent is overloaded. */
export function isConnectionLoss(error: unknown): boolean {
  return (error instanceof ClientError && error.kind === "unreachable") || isTemporary(error);
}

/** Statuses of a proxy, or of an agent that is overloaded. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

export function isTemporary(error: unknown): error is RemoteError {
  if (!(error instanceof RemoteError)) return false;
  return (
    TEMPORARY.has(error.httpStatus) ||
    error.reason === "Unavailable" ||
    error.reason === "TooManyRequests"
  );
}

/** Whether the agent certainly did not process the request, so that it can be sent again to any agent. */
export function wasNotProcessed(error: unknown): boolean {
  if (error instanceof ClientError) return error.sent === false;
  return error instanceof RemoteError && error.processed === false;
}
