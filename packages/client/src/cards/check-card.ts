import {
  type CardPublicKey,
  type CardSignatureHeader,
  ClientError,
  type SignedFormName,
  verifyCard,
} from "@convoke/protocol";
import type { DiscoveredCard } from "./card.ts";
import type { ReadUrl } from "./find-card.ts";
import { hasOrigin } from "../auth/credentials.ts";

/** The result of verifying the signatures of a card. */
export type CardSignature =
  | { readonly kind: "unsigned" | "unchecked" }
  /** Signed, but no key could be found. */
  | { readonly kind: "unverified"; readonly reason: string }
  | { readonly kind: "valid"; readonly kid: string; readonly form: SignedFormName };

export interface CheckCardOptions extends SignatureOptions {
  /** Sends no credentials: key sets are public. */
  readonly read: ReadUrl;
  /** The origin that the user gave; keys may come from there without TLS. */
  readonly trustedOrigin: string;
}

/** Verifies the signatures as the options require; an invalid signature is an error. */
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
    `the card at ${cardUrl} is not signed as required: ${problem}`,
  );
}

/** Finds the keys of signatures, and counts the signatures without a permitted source of keys. */
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
    const source: KeySetSource = { jku, cardUrl: this.#cardUrl, jkuOrigins, trustedOrigin };
    const keys = await readKeySet(source, read);
    if (Array.isArray(keys)) return keys as readonly CardPublicKey[];
    this.missing += 1;
    throw new TypeError(keys as string);
  }
}

interface KeySetSource {
  /** The URL of the keys according to the signature. */
  readonly jku: string | undefined;
  readonly cardUrl: string;
  readonly jkuOrigins: readonly string[];
  readonly trustedOrigin: string;
}

/**
 * The keys of a signature (RFC 7517), or why they are not fetched. Anyone can write any URL into a
 * signature, so keys are fetched only from the card's own origin and from those that the user listed,
 * and only over HTTPS unless the user gave the origin with http.
 */
async function readKeySet(
  { jku, cardUrl, jkuOrigins, trustedOrigin }: KeySetSource,
  read: ReadUrl,
): Promise<readonly CardPublicKey[] | string> {
  if (jku === undefined) return "no key is known and it has no jku; pass trustedKeys";
  if (!URL.canParse(jku)) return `its jku "${jku}" is not a URL`;
  const { origin, protocol } = new URL(jku);
  if (!hasOrigin([new URL(cardUrl).origin, ...jkuOrigins], jku)) {
    return `its keys are at ${origin}, which is not permitted; pass jkuOrigins or trustedKeys`;
  }
  if (protocol !== "https:" && origin !== trustedOrigin) {
    return `its keys are at ${origin}, which is not permitted without https`;
  }
  return parseKeySet(await read(jku));
}

function parseKeySet({ status, statusText, text, url }: Awaited<ReturnType<ReadUrl>>) {
  if (status !== 200) throw new TypeError(`${url} answered ${status} ${statusText}`.trim());
  let keys: unknown;
  try {
    ({ keys } = (JSON.parse(text) ?? {}) as { readonly keys?: unknown });
  } catch {
    throw new TypeError(`${url} answered with something that is not JSON`);
  }
  if (!Array.isArray(keys)) throw new TypeError(`${url} has no keys`);
  return keys.filter((key) => typeof key === "object" && key !== null) as CardPublicKey[];
}

/** How strictly the signatures of a card are verified. */
export interface SignatureOptions {
  /**
   * "if-present", the default: a signature whose key can be found must be valid. If no key can be
   * found, the card is treated as unsigned: an attacker who can change a card can also remove its
   * signatures. Only "require" rejects forged cards. "ignore" verifies nothing.
   */
  readonly signatures?: "ignore" | "if-present" | "require" | undefined;
  /** Public keys that you trust; if set, no other key is accepted. */
  readonly trustedKeys?: readonly CardPublicKey[] | undefined;
  /** Origins, in addition to the card's own, from which the keys of a signature may be fetched. */
  readonly jkuOrigins?: readonly string[] | undefined;
}
