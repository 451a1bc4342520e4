import type { ModelUsage } from "../model.ts";

/** Numbers in specification 2, numbers by kind since 3. */
interface AiSdkUsage {
  readonly inputTokens?: number | { readonly total?: number; readonly cacheRead?: number };
  readonly outputTokens?: number | { readonly total?: number; readonly reasoning?: number };
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** What a request used. Zero where a provider does not tell; cached and reasoning tokens only where there are any. */
export function usageOf(usage: unknown): ModelUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = (usage ??
    {}) as AiSdkUsage;
  const input =
    typeof inputTokens === "object"
      ? inputTokens
      : { total: inputTokens, cacheRead: cachedInputTokens };
  const output =
    typeof outputTokens === "object"
      ? outputTokens
      : { total: outputTokens, reasoning: reasoningTokens };
  return {
    inputTokens: count(input.total),
    outputTokens: count(output.total),
    ...(count(input.cacheRead) > 0 && { cachedInputTokens: count(input.cacheRead) }),
    ...(count(output.reasoning) > 0 && { reasoningTokens: count(output.reasoning) }),
  };
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}
