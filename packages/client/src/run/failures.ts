import { ClientError, ERRORS, type RawCard, RemoteError } from "@convoke/protocol";

/** Answers of something between us and the agent, or of an agent that has no time now. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/** Answers that say that nothing was done. */
const TURNED_AWAY: ReadonlySet<number> = new Set([429, 503]);

/** Whether another attempt may succeed: the connection is gone, or the agent has no time now. */
export function isLoss(error: unknown): boolean {
  return (error instanceof ClientError && error.kind === "unreachable") || isTemporary(error);
}

/** Whether no interface works just now; at first that is the card's mistake, later it may pass. */
export function isNowhere(error: unknown): boolean {
  return error instanceof ClientError && error.kind === "no-interface";
}

export function isTemporary(error: unknown): error is RemoteError {
  if (!(error instanceof RemoteError)) return false;
  return (
    TEMPORARY.has(error.httpStatus) ||
    error.reason === "Unavailable" ||
    error.reason === "TooManyRequests"
  );
}

export function isUnreadable(error: unknown): error is ClientError {
  return error instanceof ClientError && error.kind === "unreadable";
}

export function isTaskNotFound(error: unknown): error is RemoteError {
  return error instanceof RemoteError && error.code === ERRORS.TaskNotFound.code;
}

export function isNotCancelable(error: unknown): error is RemoteError {
  return error instanceof RemoteError && error.code === ERRORS.TaskNotCancelable.code;
}

/** Whether the agent has no such operation, or does not do it for this task. */
export function isUnsupported(error: unknown): boolean {
  if (error instanceof ClientError) return error.kind === "unsupported";
  if (!(error instanceof RemoteError)) return false;
  const { code } = error;
  return code === ERRORS.UnsupportedOperation.code || code === ERRORS.MethodNotFound.code;
}

/** Whether the agent certainly did nothing about the message. */
export function wasNotTaken(error: unknown): boolean {
  if (error instanceof ClientError) return error.sent === false;
  return error instanceof RemoteError && TURNED_AWAY.has(error.httpStatus);
}

/** Whether the agent says that it does not stream; what it says nothing about is tried. */
export function refusesStreams(card: RawCard): boolean {
  return asRecord(card["capabilities"])["streaming"] === false;
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
