import type { TaskState } from "@convoke/protocol";
import type { SignatureOptions } from "../cards/check-card.ts";
import type { AgentTrust, InvocationBudget, InvocationRefusal } from "./invocation-guard.ts";
import type { PeerOptions } from "./peer.ts";

/** A validated call of an agent. */
export interface InvocationRequest {
  /** The normalized base URL of the agent. */
  readonly base: string;
  readonly message: string;
  readonly depth: number;
  readonly timeoutMs: number;
  readonly options: InvokeOptions;
}

/** A call in one of the two protocols. */
export interface Invocation {
  /** Sends the message, once. */
  submit(signal: AbortSignal): Promise<TaskProgress>;
  /** Fetches the current state of the task. */
  get(taskId: string, signal: AbortSignal): Promise<TaskProgress>;
  /** How long to wait after this many polls. */
  waitMs(looks: number): number;
  close(): void;
}

/** The result of a call. Failures are in `error` and are not thrown. */
export interface RemoteInvocationResult {
  readonly success: boolean;
  /** Empty if there is no task: it was never created, or the agent replied without one. */
  readonly taskId: string;
  readonly responseText: string | null;
  readonly error: string | null;
  /** The A2A state of the task, if it is neither completed nor failed. */
  readonly a2aState?: TaskState;
}

/** The state of a task, and the agent's last text. */
export interface TaskProgress {
  readonly taskId: string;
  readonly state: TaskState;
  readonly text: string;
}

/** The result of a task; `undefined` while it may still progress by itself. */
export function toResult({
  taskId,
  state,
  text,
}: TaskProgress): RemoteInvocationResult | undefined {
  const responseText = text === "" ? null : text;
  switch (state) {
    case "completed":
      return { success: true, taskId, responseText, error: null };
    case "failed":
      return { success: false, taskId, responseText, error: responseText ?? "Task failed" };
    case "canceled":
    case "rejected": {
      const error = responseText ?? `Task ${state}`;
      return { success: false, taskId, responseText, error, a2aState: state };
    }
    case "input-required": {
      // There is no one to answer, so waiting longer would only use up the time.
      const error = `Task needs input${text === "" ? "" : `: ${text}`}`;
      return { success: false, taskId, responseText, error, a2aState: state };
    }
    case "submitted":
    case "working":
    // The authorization reaches the agent out of band.
    case "auth-required":
    case "unknown":
      return undefined;
  }
}

export function failure(taskId: string, error: string): RemoteInvocationResult {
  return { success: false, taskId, responseText: null, error };
}

/** Time limits of the steps, in milliseconds. */
export interface StepLimits {
  /** Fetching the card; default 10 s. */
  readonly cardMs?: number | undefined;
  /** Sending the message; default 30 s. */
  readonly submitMs?: number | undefined;
  /** One poll of the task; default 10 s. */
  readonly pollMs?: number | undefined;
}

export interface InvokeOptions extends PeerOptions, SignatureOptions {
  /** The skill of the agent to use. */
  readonly skill?: string | undefined;
  /** Time limit of the whole call; default 5 minutes. */
  readonly timeoutMs?: number | undefined;
  /**
   * "auto", the default, decides by the card of the agent: A2A if the card describes A2A interfaces,
   * otherwise the polling protocol at `/a2a/tasks`. The other values do not look at the card.
   */
  readonly protocol?: "auto" | "a2a" | "legacy" | undefined;
  readonly limits?: StepLimits | undefined;
  /** How many calls this session may still make. Default: no limit. */
  readonly budget?: InvocationBudget | undefined;
  /**
   * The position of this call in a chain of agents, which is sent to the agent: 1, the default, for
   * the first call, otherwise one more than the depth that the caller received.
   */
  readonly depth?: number | undefined;
  /** Maximum depth; deeper calls are refused. Default 3. */
  readonly maxDepth?: number | undefined;
  readonly trust?: AgentTrust | undefined;
  /** The name of the calling agent, for the log of the called one. */
  readonly sourceAgent?: string | undefined;
  /** Called with the reason if a call is refused. The result does not contain it, because a model reads the result. */
  readonly onRefusal?: ((refusal: InvocationRefusal) => void) | undefined;
  /** Called with progress messages for people. */
  readonly onStatus?: ((text: string) => void) | undefined;
}
