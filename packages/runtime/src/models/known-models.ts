/**
 * How many tokens well-known models can read, by the beginning of their names;
 * the longest beginning counts. Prices change too often to be written down.
 */
const CONTEXT_TOKENS: Readonly<Record<string, number>> = {
  "claude-": 200_000,
  "gpt-3.5-turbo": 16_385,
  "gpt-4o": 128_000,
  "gpt-4-turbo": 128_000,
  "gpt-4.1": 1_047_576,
  "gpt-5": 400_000,
  o1: 200_000,
  o3: 200_000,
  "o4-mini": 200_000,
  "gemini-1.5-pro": 2_097_152,
  "gemini-": 1_048_576,
};

/** How many tokens a model can read, if it is of a family that we know. */
export function contextTokensOf(name: string): number | undefined {
  const beginning = Object.keys(CONTEXT_TOKENS)
    .filter((candidate) => name.startsWith(candidate))
    .toSorted((one, other) => other.length - one.length)[0];
  return beginning === undefined ? undefined : CONTEXT_TOKENS[beginning];
}
