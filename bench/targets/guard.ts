/** The tokens of a server that authenticates its callers. */
export const GUARD = { issuer: "https://issuer.bench", audience: "https://agent.bench" } as const;

export function guardSecret(): Uint8Array {
  return new TextEncoder().encode("a secret of the benchmark with 32 bytes or more");
}
