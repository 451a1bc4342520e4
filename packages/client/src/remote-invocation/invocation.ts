import type { InvokeOptions } from "./invoke-options.ts";
import type { Standing } from "./invocation-result.ts";

/** What is asked of an agent. */
export interface Order {
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
  submit(signal: AbortSignal): Promise<Standing>;
  /** Looks how the task stands. */
  get(taskId: string, signal: AbortSignal): Promise<Standing>;
  /** How long to wait after so many looks. */
  waitMs(looks: number): number;
  close(): void;
}
