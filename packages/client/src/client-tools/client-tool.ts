import type { Metadata } from "@convoke/protocol";

/** A tool that runs here when an agent calls it. The agent sees its arguments and its result, and nothing else. */
export interface ClientTool {
  /** One to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does and when to use it: the agent chooses by it. */
  readonly description?: string | undefined;
  /** A JSON Schema of an object; without it, no arguments. */
  readonly inputSchema?: Metadata | undefined;
  /** Returns what the agent is told, as JSON. What it throws, the agent is told as the error of the tool. */
  run(input: Metadata, context: ClientToolContext): unknown;
}

export interface ClientToolContext {
  /** Fires when the run is aborted or left; its result is not sent then. */
  readonly signal: AbortSignal;
  /** The same when the call is seen again, also by another process: give it to services that take an idempotency key. */
  readonly toolUseId: string;
  readonly taskId: string;
}
