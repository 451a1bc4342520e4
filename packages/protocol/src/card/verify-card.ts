import { decodeBase64Url } from "./base64url.ts";
import { cardPayloads, signingInput } from "./card-payloads.ts";
import { type CardPublicKey, importKey } from "./json-web-key.ts";
import { type CardSignatureHeader, readProtectedHeader } from "./protected-header.ts";
import { SIGNATURE_ALGORITHMS, isCardAlgorithm } from "./signature-algorithms.ts";
import type { SignedFormName } from "./signed-form.ts";

export interface VerifyCardOptions {
  /**
   * The keys that are trusted, or a function that finds them for a signature. Nothing is fetched
   * here and no key inside of a signature is used. A key counts only when it has the signature's
   * `kid`. Leave out what is expired or revoked.
   */
  readonly keys:
    | readonly CardPublicKey[]
    | ((header: CardSignatureHeader) => Promise<readonly CardPublicKey[]>);
  /** Which algorithms may be used; all that {@link CardAlgorithm} names unless told otherwise. */
  readonly algorithms?: readonly string[];
}

export type CardVerdict =
  | { readonly kind: "unsigned" }
  | { readonly kind: "valid"; readonly kid: string; readonly form: SignedFormName }
  | { readonly kind: "invalid"; readonly reason: string };

type Valid = Extract<CardVerdict, { kind: "valid" }>;
type Payloads = ReturnType<typeof cardPayloads>;

/** Each may cost a look-up of keys, and a card has a handful. */
const MAX_SIGNATURES = 32;

/**
 * Whether a trusted key has signed the card (1.0 §8.4.3). One signature that verifies is enough,
 * whatever the others are worth: they may be by parties whose keys we do not have, or over a form
 * that we do not know, and an attacker could remove a wrong one anyway. Signatures of which none
 * verifies make the card invalid, never unsigned.
 *
 * `valid` speaks of the content of {@link signedForm} and of nothing else on the card. In the form
 * `spec` that is all that the card says in the words of 1.0; in the form `sdk` it is that without
 * what is empty. Neither says that nothing empty was taken out: when the signer signs the form of
 * the SDKs, it signs that card as well.
 */
export async function verifyCard(card: object, options: VerifyCardOptions): Promise<CardVerdict> {
  const { signatures } = card as { readonly signatures?: unknown };
  if (signatures === undefined || signatures === null) return { kind: "unsigned" };
  if (!Array.isArray(signatures)) return invalid("card.signatures must be an array");
  if (signatures.length === 0) return { kind: "unsigned" };
  if (signatures.length > MAX_SIGNATURES) {
    return invalid(`card.signatures has more than ${MAX_SIGNATURES} entries`);
  }
  try {
    return await bestOf(signatures, cardPayloads(card), options);
  } catch (error) {
    return invalid(messageOf(error));
  }
}

async function bestOf(
  signatures: readonly unknown[],
  payloads: Payloads,
  options: VerifyCardOptions,
): Promise<CardVerdict> {
  const reasons: string[] = [];
  let weaker: Valid | undefined;
  for (const [index, entry] of signatures.entries()) {
    try {
      const verdict = await verifySignature(entry, payloads, options);
      if (verdict.form === "spec") return verdict;
      weaker ??= verdict;
    } catch (error) {
      reasons.push(`signatures[${index}] ${messageOf(error)}`);
    }
  }
  return weaker ?? invalid(reasons.join("; "));
}

/** What a signature proves; throws why it proves nothing. */
async function verifySignature(
  entry: unknown,
  payloads: Payloads,
  options: VerifyCardOptions,
): Promise<Valid> {
  const parts = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof parts["protected"] !== "string" || typeof parts["signature"] !== "string") {
    throw new TypeError("must have the texts protected and signature");
  }
  const header = readProtectedHeader(parts["protected"], parts["header"]);
  const { alg, kid } = header;
  if (!isCardAlgorithm(alg) || options.algorithms?.includes(alg) === false) {
    throw new TypeError(`is by the algorithm ${JSON.stringify(alg)}, which is not accepted`);
  }
  const signature = decodeBase64Url(parts["signature"]);
  if (signature === undefined) throw new TypeError("has a signature that is not base64url");

  const failures: string[] = [];
  for (const candidate of await keysFor(header, options)) {
    try {
      const key = await importKey(alg, candidate, "verify", `the key ${JSON.stringify(kid)}`);
      for (const { form, payload } of payloads) {
        const input = signingInput(parts["protected"], payload);
        const fits = await crypto.subtle.verify(
          SIGNATURE_ALGORITHMS[alg].use,
          key,
          signature,
          input,
        );
        if (fits) return { kind: "valid", kid, form };
      }
      failures.push(`is not by the key ${JSON.stringify(kid)} over this card`);
    } catch (error) {
      failures.push(`cannot be verified: ${messageOf(error)}`);
    }
  }
  throw new TypeError(failures.join(", "));
}

async function keysFor(
  header: CardSignatureHeader,
  { keys }: VerifyCardOptions,
): Promise<readonly CardPublicKey[]> {
  const found = typeof keys === "function" ? await askFor(header, keys) : keys;
  const named = found.filter(({ kid }) => kid === header.kid);
  if (named.length === 0)
    throw new TypeError(`is by the unknown key ${JSON.stringify(header.kid)}`);
  return named;
}

/** A look-up that fails proves nothing; another signature may still do. */
async function askFor(
  header: CardSignatureHeader,
  find: (header: CardSignatureHeader) => Promise<readonly CardPublicKey[]>,
): Promise<readonly CardPublicKey[]> {
  try {
    return await find(header);
  } catch (error) {
    const name = JSON.stringify(header.kid);
    throw new TypeError(`is by the key ${name}, which was not found: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function invalid(reason: string): CardVerdict {
  return { kind: "invalid", reason };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
