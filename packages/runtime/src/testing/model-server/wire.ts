import type { FinishReason, ModelUsage } from "../../model/model.ts";
import type { ScriptError, ScriptStep } from "../../models/script/script-step.ts";

/** The wire formats of the providers. */
export type WireFormat = "anthropic" | "google" | "openai-chat" | "openai-responses";

/** How an answer ends. Some formats send a part of this at the beginning. */
export interface WireEnd {
  readonly reason: FinishReason;
  readonly usage: ModelUsage;
}

/** The steps that produce output. */
export type SpokenStep = Extract<
  ScriptStep,
  { kind: "text" | "reasoning" | "tool-call" | "source" | "file" }
>;

/** Writes one answer in a provider's format. */
export interface Wire {
  begin(end: WireEnd): Iterable<string>;
  say(step: SpokenStep): Iterable<string>;
  end(end: WireEnd): Iterable<string>;
  /** The frame for an error mid-answer. */
  errorFrame(error: ScriptError): string;
  /** The body of an error response. */
  errorBody(error: ScriptError): unknown;
}

/** An SSE frame. */
export function frame(data: unknown, event?: string): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** Throws for a step that a format cannot express. */
export function cannotSay(format: WireFormat, step: SpokenStep): never {
  throw new TypeError(`the ${format} format has no step of kind "${step.kind}"`);
}
