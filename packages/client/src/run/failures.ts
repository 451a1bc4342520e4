import { ClientError, ERRORS, RemoteError } from "@convoke/protocol";

/** Whether no interface works. On the first attempt the card is wrong; later it may be temporary. */
export function hasNoInterface(error: unknown): boolean {
  return error instanceof ClientError && error.kind === "no-interface";
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

/** Whether the agent does not support the operation, or not for this task. */
export function isUnsupported(error: unknown): boolean {
  return isMissing(error) || isUnsupportedOperation(error);
}

/** Whether the agent has no such operation: then the request was not processed. */
export function isMissing(error: unknown): boolean {
  if (error instanceof ClientError) return error.kind === "unsupported";
  return error instanceof RemoteError && error.code === ERRORS.MethodNotFound.code;
}

/** -32004. Servers also end a stream with it if the events of the agent are not in order: after its work. */
export function isUnsupportedOperation(error: unknown): error is RemoteError {
  return error instanceof RemoteError && error.code === ERRORS.UnsupportedOperation.code;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The agent closed the stream before the task was done. */
export class EarlyCloseError extends ClientError {
  constructor(url: string, taskId: string | undefined) {
    const what = taskId === undefined ? "without an answer" : `before task ${taskId} was done`;
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
  const message = `${errorMessage(error)}. A second attempt had the same result`;
  return new ClientError("unreadable", message, { cause: error });
}

export function gaveUpError(error: unknown, waitedMs: number): ClientError {
  const seconds = Math.round(waitedMs / 1000);
  const message = `${errorMessage(error)}. Retried for ${seconds} s without success`;
  return new ClientError("unreachable", message, { cause: error });
}

export function taskLostError(error: RemoteError, url: string, taskId: string): RemoteError {
  const { httpStatus, code, reason, data } = error;
  const message = `the agent at ${url} has lost task ${taskId}: it existed before and is no longer found`;
  return new RemoteError(message, { httpStatus, code, reason, data });
}

export function notResentError(error: unknown): ClientError {
  const message =
    `${errorMessage(error)}. The message was not resent: it may have arrived, and it is not ` +
    `certain that the agent would recognize it. If receiving it twice does no harm, ` +
    `set reconnect.resend to "always"`;
  return new ClientError("unreachable", message, { cause: error });
}

export function notMovedError(error: unknown, taskId: string, waitedMs: number): ClientError {
  const seconds = Math.round(waitedMs / 1000);
  const message =
    `${errorMessage(error)}. The message is in the history of task ${taskId}, which still shows the ` +
    `same question after ${seconds} s. The answer may have been taken, so it was not sent again`;
  return new ClientError("unreachable", message, { cause: error });
}
