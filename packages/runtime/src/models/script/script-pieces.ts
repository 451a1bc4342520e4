import type { FinishReason, ModelUsage } from "../../model/model.ts";
import type { ScriptStep } from "./script-step.ts";

/** Splits text into words, each with the whitespace that follows it. */
export function words(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

/** The arguments of a tool call as JSON text. */
export function inputText(input: unknown): string {
  return typeof input === "string" ? input : (JSON.stringify(input) ?? "{}");
}

/** The arguments of a tool call as JSON text, in chunks as a provider streams them. */
export function inputPieces(input: unknown): readonly string[] {
  return inputText(input).match(/.{1,8}/gs) ?? [];
}

/** How a script ends: as its `finish` step says, or as its other steps imply. */
export function finishOf(steps: readonly ScriptStep[]): {
  readonly reason: FinishReason;
  readonly usage: ModelUsage;
} {
  const given = steps.find((step) => step.kind === "finish");
  const callsTools = steps.some(({ kind }) => kind === "tool-call");
  return {
    reason: given?.reason ?? (callsTools ? "tool-calls" : "stop"),
    usage: given?.usage ?? { inputTokens: 10, outputTokens: steps.reduce(countTokens, 0) },
  };
}

function countTokens(sum: number, step: ScriptStep): number {
  if (step.kind === "text") return sum + words(step.text).length;
  return step.kind === "tool-call" ? sum + inputPieces(step.input).length : sum;
}
