import type { FinishReason, ModelUsage } from "../../model/model.ts";
import type { ScriptStep } from "./script-step.ts";

/** Text split into words, each with the space that follows it. */
export function words(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

/** The JSON text of a tool call. */
export function inputText(input: unknown): string {
  return typeof input === "string" ? input : (JSON.stringify(input) ?? "{}");
}

/** The JSON text of a tool call, in pieces as a provider streams it. */
export function inputPieces(input: unknown): readonly string[] {
  return inputText(input).match(/.{1,8}/gs) ?? [];
}

/** How a script ends: as it says, or as follows from what it did. */
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
