import type { FinishReason, ModelUsage } from "../../model/model.ts";
import type { ScriptError, ScriptStep } from "../../models/script/script-step.ts";

/** The ways in which providers speak. */
export type WireFormat = "anthropic" | "google" | "openai-chat" | "openai-responses";

/** What the end of an answer says. Some formats tell a part of it at the beginning. */
export interface WireEnd {
  readonly reason: FinishReason;
  readonly usage: ModelUsage;
}

/** The steps that say something. */
export type SpokenStep = Extract<
  ScriptStep,
  { kind: "text" | "reasoning" | "tool-call" | "source" | "file" }
>;

/** Writes one answer as a provider would. */
export interface Wire {
  begin(end: WireEnd): Iterable<string>;
  say(step: SpokenStep): Iterable<string>;
  end(end: WireEnd): Iterable<string>;
  /** The error in mid-answer. */
  errorFrame(error: ScriptError): string;
  /** The body of a response that is an error. */
  errorBody(error: ScriptError): unknown;
}

/** An SSE frame. */
export function frame(data: unknown, event?: string): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** A step that a format has no words for. */
export function cannotSay(format: WireFormat, step: SpokenStep): never {
  throw new TypeError(`the ${format} format has no step of kind "${step.kind}"`);
}
