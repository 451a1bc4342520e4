import { ClientError, ERRORS, type RawCard, RemoteError } from "@convoke/protocol";

/** Answers of something between us and the agent, or of an agent that has no time now. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/** Answers that say that nothing was done. */
const TURNED_AWAY: ReadonlySet<number> = new Set([429, 503]);

/** Whether another attempt may succeed: the connection is gone, or the agent has no time now. */
export function isConnectionLoss(error: unknown): boolean {
  return (error instanceof ClientError && error.kind === "unreachable") || isTemporary(error);
}

/** Whether no interface works just now; at first that is the card's mistake, later it may pass. */
export function hasNoInterface(error: unknown): boolean {
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
export function wasNotProcessed(error: unknown): boolean {
  if (error instanceof ClientError) return error.sent === false;
  return error instanceof RemoteError && TURNED_AWAY.has(error.httpStatus);
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The agent itself closed the stream, although more must come. */
export class EarlyCloseError extends ClientError {
  constructor(url: string, taskId: string | undefined) {
    const what = taskId === undefined ? "without an answer" : `before task ${taskId} came to rest`;
    super("unreachable", `${url} closed the stream ${what}`);
  }
}

export function otherTaskError(url: string, named: string, taskId: string): ClientError {
  const problem = `sent an event of task ${named} in the stream of task ${taskId}`;
  return new ClientError("unreadable", `${url} ${problem}`);
}

export function outOfOrderError(url: string, id: string): ClientError {
  return new ClientError("unreachable", `${url} sent event ${id} after later ones`);
}

export function unreadableAgainError(error: unknown): ClientError {
  const message = `${errorMessage(error)}. It was so when it was asked for again, too`;
  return new ClientError("unreadable", message, { cause: error });
}

export function gaveUpError(error: unknown, waitedMs: number): ClientError {
  const seconds = Math.round(waitedMs / 1000);
  const message = `${errorMessage(error)}. It was tried again for ${seconds} s without success`;
  return new ClientError("unreachable", message, { cause: error });
}

export function taskLostError(error: RemoteError, url: string, taskId: string): RemoteError {
  const { httpStatus, code, reason, data } = error;
  const message = `the agent at ${url} has lost task ${taskId}: it was there before, and now it is not found`;
  return new RemoteError(message, { httpStatus, code, reason, data });
}

export function notResentError(error: unknown): ClientError {
  const message =
    `${errorMessage(error)}. The message was not sent again: nobody can tell whether the agent ` +
    `got it, and its card does not say that it takes a message once. If twice does no harm, ` +
    `set reconnect.resend to "always"`;
  return new ClientError("unreachable", message, { cause: error });
}
