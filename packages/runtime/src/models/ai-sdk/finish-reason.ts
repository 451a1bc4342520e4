import type { FinishReason } from "../model.ts";

const REASONS: ReadonlySet<unknown> = new Set<FinishReason>([
  "stop",
  "tool-calls",
  "length",
  "content-filter",
  "error",
  "other",
]);

/** Why the provider stopped: a word in specification 2, an object since 3. */
export function finishReasonOf(reason: unknown): FinishReason | "interrupted" {
  const word =
    typeof reason === "object" && reason !== null && "unified" in reason ? reason.unified : reason;
  if (word === "interrupted") return word;
  return REASONS.has(word) ? (word as FinishReason) : "other";
}
