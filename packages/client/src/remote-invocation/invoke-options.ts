import type { SignatureOptions } from "../cards/signature-options.ts";
import type { AgentTrust } from "./agent-trust.ts";
import type { InvocationBudget } from "./invocation-budget.ts";
import type { InvocationRefusal } from "./invocation-guard.ts";
import type { PeerOptions } from "./peer.ts";

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
