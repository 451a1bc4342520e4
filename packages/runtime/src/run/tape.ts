import { AsyncLocalStorage } from "node:async_hooks";
import type { Metadata } from "@convoke/protocol";
import type { Model } from "../model/model.ts";
import type { Interrupt, Tool, ToolEvent } from "../tools/tool.ts";

/** Stands between an agent and its models and tools while a test records or replays them. */
export interface Tape {
  /** The model that answers. `open` prepares the agent's own. */
  model(open: () => Promise<Model>): Promise<Model>;
  /** The tools of MCP servers and sub-agents. `look` asks the servers and the agents for them. */
  foreignTools(look: () => Promise<readonly Tool[]>): Promise<readonly Tool[]>;
  /** One round of a tool call. `run` runs the tool, which shows its events to the given function. */
  call(call: TapedCall, run: (show: ShowEvent) => Promise<ToolOutcome>): Promise<ToolOutcome>;
}

type ShowEvent = (event: ToolEvent) => void;

/** A tool call that is about to run. */
export interface TapedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Metadata;
  /** Whether the caller has approved it. */
  readonly isApproved: boolean;
  /** Shows an event of the tool. */
  readonly show: ShowEvent;
  /** Masks the sensitive answers of the task. */
  hide<T>(value: T): T;
}

/** The outcome of one run of a tool. */
export type ToolOutcome =
  /** JSON, within the output limit. */
  | { readonly kind: "result"; readonly value: unknown }
  /** A text for the model, and what was thrown, if it was. */
  | { readonly kind: "error"; readonly text: string; readonly error?: unknown }
  | { readonly kind: "interrupts"; readonly interrupts: readonly Interrupt[] };

const tapes = new AsyncLocalStorage<Tape>();

/** Runs everything that `work` starts with the tape. */
export function withTape<T>(tape: Tape, work: () => T): T {
  return tapes.run(tape, work);
}

/** Runs work that belongs to another agent, which is not on the tape. */
export function withoutTape<T>(work: () => T): T {
  return tapes.exit(work);
}

export function currentTape(): Tape | undefined {
  return tapes.getStore();
}
