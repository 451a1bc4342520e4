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

interface KeySetPlace {
  /** Where the signature says that its keys are. */
  readonly jku: string | undefined;
  readonly cardUrl: string;
  readonly jkuOrigins: readonly string[];
  readonly trustedOrigin: string;
}

/**
 * The keys of a signature (RFC 7517), or in words why they are not looked for.
 * Anyone can write anything into a signature, so only the card's own origin and
 * those that the user listed are asked, and only over HTTPS, unless the user gave
 * the address without it.
 */
async function readKeySet(
  { jku, cardUrl, jkuOrigins, trustedOrigin }: KeySetPlace,
  read: ReadUrl,
): Promise<readonly CardPublicKey[] | string> {
  if (jku === undefined) return "no key is known and it names no jku; give trustedKeys";
  if (!URL.canParse(jku)) return `its jku "${jku}" is no URL`;
  const { origin, protocol } = new URL(jku);
  if (!hasOrigin([new URL(cardUrl).origin, ...jkuOrigins], jku)) {
    return `its keys are at ${origin}, which is not asked; give jkuOrigins or trustedKeys`;
  }
  if (protocol !== "https:" && origin !== trustedOrigin) {
    return `its keys are at ${origin}, which is not asked without https`;
  }
  return keysIn(await read(jku));
}

function keysIn({ status, statusText, text, url }: Awaited<ReturnType<ReadUrl>>) {
  if (status !== 200) throw new TypeError(`${url} answered ${status} ${statusText}`.trim());
  let keys: unknown;
  try {
    ({ keys } = (JSON.parse(text) ?? {}) as { readonly keys?: unknown });
  } catch {
    throw new TypeError(`${url} answered with something that is not JSON`);
  }
  if (!Array.isArray(keys)) throw new TypeError(`${url} shows no keys`);
  return keys.filter((key) => typeof key === "object" && key !== null) as CardPublicKey[];
}

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
