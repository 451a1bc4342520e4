import { A2AError } from "@convoke/protocol";
import type { Logger } from "../logging/logger.ts";
import { newErrorId } from "../logging/error-id.ts";
import { LimitError } from "../task/limits.ts";
import type { Failure } from "./run.ts";
import { StateError } from "../task/speculative-state.ts";

/**
 * What a failed task may say. Words that an agent chose on purpose are kept;
 * the text of any other error may hold secrets, so it goes to the log, and the
 * task carries the id to find it there.
 */
export function explainFailure(error: unknown, taskId: string, logger: Logger): Failure {
  if (A2AError.is(error)) return { text: error.detail, metadata: { reason: "agent-error" } };
  if (error instanceof LimitError) {
    const { limit, message } = error;
    logger.warn("the agent reached a limit", { taskId, limit });
    const text = `The agent reached a limit of this server: ${message}.`;
    return { text, metadata: { reason: "limit", limit } };
  }
  const errorId = newErrorId();
  logger.error("the agent failed", { taskId, errorId, error });
  const text =
    error instanceof StateError
      ? `The agent broke the order of states: ${error.message}.`
      : `The agent failed. The server's log has the cause under error ${errorId}.`;
  return { text, metadata: { reason: "agent-error", errorId } };
}
