import type { TaskState } from "@convoke/protocol";
import type { SignatureOptions } from "../cards/check-card.ts";
import type { AgentTrust, InvocationBudget, InvocationRefusal } from "./invocation-guard.ts";
import type { PeerOptions } from "./peer.ts";

/** What is asked of an agent. */
export interface InvocationRequest {
  /** The address of the agent, in one spelling. */
  readonly base: string;
  readonly message: string;
  readonly depth: number;
  readonly timeoutMs: number;
  readonly options: InvokeOptions;
}

/** One call in the words of one protocol. */
export interface Invocation {
  /** Hands the message over, once. */
  submit(signal: AbortSignal): Promise<TaskProgress>;
  /** Looks how the task stands. */
  get(taskId: string, signal: AbortSignal): Promise<TaskProgress>;
  /** How long to wait after so many looks. */
  waitMs(looks: number): number;
  close(): void;
}

/** What became of a call. It tells in `error` what went wrong, and throws nothing for it. */
export interface RemoteInvocationResult {
  readonly success: boolean;
  /** Empty when there is no task: it was never made, or the agent answered without one. */
  readonly taskId: string;
  readonly responseText: string | null;
  readonly error: string | null;
  /** How the task stands in the words of A2A, where that is neither completed nor failed. */
  readonly a2aState?: TaskState;
}

/** How a task stands, and what the agent has said last. */
export interface TaskProgress {
  readonly taskId: string;
  readonly state: TaskState;
  readonly text: string;
}

/** The result of a task, or nothing as long as it may go on by itself. */
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
      // Nobody is here to answer, so more waiting would only use up the time.
      const error = `Task needs input${text === "" ? "" : `: ${text}`}`;
      return { success: false, taskId, responseText, error, a2aState: state };
    }
    case "submitted":
    case "working":
    // What it needs comes to the agent by another way than this.
    case "auth-required":
    case "unknown":
      return undefined;
  }
}

export function failure(taskId: string, error: string): RemoteInvocationResult {
  return { success: false, taskId, responseText: null, error };
}

/** How long each step may take. */
export interface StepLimits {
  /** For the card; by default 10 seconds. */
  readonly cardMs?: number | undefined;
  /** For handing over the message; by default 30 seconds. */
  readonly submitMs?: number | undefined;
  /** For one look at the task; by default 10 seconds. */
  readonly pollMs?: number | undefined;
}

export interface InvokeOptions extends PeerOptions, SignatureOptions {
  /** The skill of the agent that is meant. */
  readonly skill?: string | undefined;
  /** For all of it; by default five minutes. */
  readonly timeoutMs?: number | undefined;
  /**
   * "auto", the default, asks the card of the agent: one that says how it speaks
   * A2A is spoken to in A2A, any other by `/a2a/tasks`. The others ask nobody.
   */
  readonly protocol?: "auto" | "a2a" | "legacy" | undefined;
  readonly limits?: StepLimits | undefined;
  /** What this session may still ask of other agents; without one it may ask for anything. */
  readonly budget?: InvocationBudget | undefined;
  /**
   * How many agents have called one another up to this call, which is told to the
   * agent: 1, the default, for the first, else one more than what the caller was told.
   */
  readonly depth?: number | undefined;
  /** The deepest call that is made; by default 3. */
  readonly maxDepth?: number | undefined;
  readonly trust?: AgentTrust | undefined;
  /** The name of the agent that calls, for the log of the other. */
  readonly sourceAgent?: string | undefined;
  /** Is told why a call was not made. The result does not say it, because a model reads that. */
  readonly onRefusal?: ((refusal: InvocationRefusal) => void) | undefined;
  /** Is told in words for people how it goes. */
  readonly onStatus?: ((text: string) => void) | undefined;
}
