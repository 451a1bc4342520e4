import {
  type CardPublicKey,
  type CardSignatureHeader,
  ClientError,
  type SignedFormName,
  verifyCard,
} from "@convoke/protocol";
import type { DiscoveredCard } from "../discover.ts";
import type { ReadUrl } from "./find-card.ts";
import { type KeySetPlace, readKeySet } from "./read-key-set.ts";
import type { SignatureOptions } from "./signature-options.ts";

/** What the signatures of a card are worth. */
export type CardSignature =
  | { readonly kind: "unsigned" | "unchecked" }
  /** Signed, by keys that nobody could be asked for. */
  | { readonly kind: "unverified"; readonly reason: string }
  | { readonly kind: "valid"; readonly kid: string; readonly form: SignedFormName };

export interface CheckCardOptions extends SignatureOptions {
  /** Without credentials: a key set is public. */
  readonly read: ReadUrl;
  /** The origin that the user gave, from which keys may come although it has no TLS. */
  readonly trustedOrigin: string;
}

/** Looks at the signatures as the options demand; a signature that does not hold is an error. */
export async function checkCard(
  { card, cardUrl }: DiscoveredCard,
  options: CheckCardOptions,
): Promise<CardSignature> {
  const { signatures = "if-present", trustedKeys } = options;
  if (signatures === "ignore") return { kind: "unchecked" };
  const keys = new KeyFinder(cardUrl, options);
  const verdict = await verifyCard(card, { keys: (header) => keys.find(header) });
  if (verdict.kind === "valid") return verdict;
  const problem = verdict.kind === "unsigned" ? "has no signature" : verdict.reason;
  if (signatures === "require") throw badSignature(cardUrl, problem);
  if (verdict.kind === "unsigned") return { kind: "unsigned" };
  const count = (card["signatures"] as readonly unknown[]).length;
  const isUnknown = trustedKeys === undefined && keys.missing === count;
  if (!isUnknown) throw badSignature(cardUrl, problem);
  return { kind: "unverified", reason: problem };
}

function badSignature(cardUrl: string, problem: string): ClientError {
  return new ClientError(
    "bad-signature",
    `the card at ${cardUrl} is not signed as it must be: ${problem}`,
  );
}

/** Finds the keys for signatures, and counts for how many there was no place to look. */
class KeyFinder {
  missing = 0;
  readonly #cardUrl: string;
  readonly #options: CheckCardOptions;

  constructor(cardUrl: string, options: CheckCardOptions) {
    this.#cardUrl = cardUrl;
    this.#options = options;
  }

  async find({ jku }: CardSignatureHeader): Promise<readonly CardPublicKey[]> {
    const { trustedKeys, jkuOrigins = [], read, trustedOrigin } = this.#options;
    if (trustedKeys !== undefined) return trustedKeys;
    const place: KeySetPlace = { jku, cardUrl: this.#cardUrl, jkuOrigins, trustedOrigin };
    const keys = await readKeySet(place, read);
    if (Array.isArray(keys)) return keys as readonly CardPublicKey[];
    this.missing += 1;
    throw new TypeError(keys as string);
  }
}
