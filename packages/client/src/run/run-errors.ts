import { ClientError, RemoteError } from "@convoke/protocol";
import { sentenceOf } from "./failures.ts";

/** The agent itself closed the stream, although more must come. */
export class EarlyClose extends ClientError {
  constructor(url: string, taskId: string | undefined) {
    const what = taskId === undefined ? "without an answer" : `before task ${taskId} came to rest`;
    super("unreachable", `${url} closed the stream ${what}`);
  }
}

export function otherTask(url: string, named: string, taskId: string): ClientError {
  const problem = `sent an event of task ${named} in the stream of task ${taskId}`;
  return new ClientError("unreadable", `${url} ${problem}`);
}

export function outOfOrder(url: string, id: string): ClientError {
  return new ClientError("unreachable", `${url} sent event ${id} after later ones`);
}

export function unreadableAgain(error: unknown): ClientError {
  const message = `${sentenceOf(error)}. It was so when it was asked for again, too`;
  return new ClientError("unreadable", message, { cause: error });
}

export function givenUp(error: unknown, waitedMs: number): ClientError {
  const seconds = Math.round(waitedMs / 1000);
  const message = `${sentenceOf(error)}. It was tried again for ${seconds} s without success`;
  return new ClientError("unreachable", message, { cause: error });
}

export function taskLost(error: RemoteError, url: string, taskId: string): RemoteError {
  const { httpStatus, code, reason, data } = error;
  const message = `the agent at ${url} has lost task ${taskId}: it was there before, and now it is not found`;
  return new RemoteError(message, { httpStatus, code, reason, data });
}

export function notSentAgain(error: unknown): ClientError {
  const message =
    `${sentenceOf(error)}. The message was not sent again: nobody can tell whether the agent ` +
    `got it, and its card does not say that it takes a message once. If twice does no harm, ` +
    `set reconnect.resend to "always"`;
  return new ClientError("unreachable", message, { cause: error });
}
