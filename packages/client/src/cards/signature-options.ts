import type { CardPublicKey } from "@convoke/protocol";

/** How much the signatures of a card count. */
export interface SignatureOptions {
  /**
   * "if-present", the default: a signature whose key can be found must hold.
   * Where no key can be found the card counts as unsigned, which it might be as
   * well: whoever changes a card can also take its signatures off. Only
   * "require" keeps a forged card out. "ignore" looks at none.
   */
  readonly signatures?: "ignore" | "if-present" | "require" | undefined;
  /** Public keys that you trust; then no other key counts. */
  readonly trustedKeys?: readonly CardPublicKey[] | undefined;
  /** Origins besides the card's own from which keys may be fetched that a signature points to. */
  readonly jkuOrigins?: readonly string[] | undefined;
}
