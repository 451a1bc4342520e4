import { type StatusUpdateEvent, type Task, agentMessage } from "@convoke/protocol";
import type { OpenRequest } from "../approvals/open-request.ts";
import { type LoopEnd, LoopEndError } from "./loop-failure.ts";

// If the caller does not run its tools in time, the task reports that in the same way as a server
// reports a question that was not answered in time.

/** When a question expires that asks for client tools only. */
export function expiryOfUses(
  requests: readonly OpenRequest[],
  askedAt: Date,
  settings: ClientToolSettings | undefined,
): Date | undefined {
  if (settings === undefined || !asksForToolsOnly(requests)) return undefined;
  return new Date(askedAt.getTime() + settings.timeoutMs);
}

export function asksForToolsOnly(requests: readonly OpenRequest[]): boolean {
  return requests.length > 0 && requests.every(({ kind }) => kind === "tool-use");
}

/** The status of a task that continues without client input; throws the end of one that does not. */
export function goOnUnanswered(
  { id: taskId, contextId }: Task,
  messageId: string,
  { timeoutMs, onTimeout }: ClientToolSettings,
): StatusUpdateEvent {
  if (onTimeout === "fail") throw new LoopEndError(inputTimeout(taskId, timeoutMs));
  const message = agentMessage(messageId, "Continuing without client input...");
  const status = { state: "working", message } as const;
  return { kind: "status-update", taskId, contextId, status, final: false };
}

function inputTimeout(taskId: string, timeoutMs: number): LoopEnd {
  const text = "Input timeout";
  const timeoutSeconds = timeoutMs / 1000;
  return {
    state: "failed",
    text,
    metadata: { error: text, reason: "input-timeout", taskId, timeoutSeconds },
  };
}

/** How an agent uses tools that its callers have. */
export interface ClientToolOptions {
  /** How long a call waits for the caller, in milliseconds. Default 300 000. */
  readonly timeoutMs?: number;
  /** Without an answer in time, the model continues and is informed, or the task fails. Default `continue`. */
  readonly onTimeout?: "continue" | "fail";
}

/** The validated options, with all defaults filled in. */
export type ClientToolSettings = Required<ClientToolOptions>;

const DEFAULT_TIMEOUT_MS = 300_000;

/** Validates the options. Returns undefined if the agent accepts no client tools. */
export function clientToolSettings(
  options: ClientToolOptions | false = {},
): ClientToolSettings | undefined {
  if (options === false) return undefined;
  if (typeof options !== "object" || options === null) {
    throw new TypeError("clientTools must be false, or { timeoutMs, onTimeout }");
  }
  const { timeoutMs = DEFAULT_TIMEOUT_MS, onTimeout = "continue" } = options;
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw new TypeError(
      `clientTools.timeoutMs must be a whole number of milliseconds above 0, not ${String(timeoutMs)}`,
    );
  }
  if (onTimeout !== "continue" && onTimeout !== "fail") {
    throw new TypeError(
      `clientTools.onTimeout must be "continue" or "fail", not ${JSON.stringify(onTimeout)}`,
    );
  }
  return { timeoutMs, onTimeout };
}
