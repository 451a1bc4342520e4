import type { CryptoKey, FlattenedJWSInput } from "jose";
import { decodeBase64Url } from "../internal/base64url.ts";
import {
  type CardKey,
  type CardPublicKey,
  SIGNATURE_ALGORITHMS,
  importKey,
  isCardAlgorithm,
} from "./card-key.ts";
import {
  type CardSignatureHeader,
  createProtectedHeader,
  readProtectedHeader,
} from "./protected-header.ts";
import { type SignedFormName, cardPayloads } from "./signed-form.ts";

/** A JWS whose payload is the card that carries it: 1.0 §4.4.7. */
export interface AgentCardSignature {
  readonly protected: string;
  readonly signature: string;
  readonly header?: object;
}

/**
 * Adds signatures of every key to a 1.0 card (1.0 §8.4). Each key signs the card twice, because the
 * specification and the official SDKs disagree about what is signed (see {@link SignedFormName});
 * only once if nothing in the card is empty and both forms are the same.
 *
 * Existing signatures are kept: another party may have made them. Remove them before signing a card
 * whose content has changed.
 */
export async function signCard<C extends object>(
  card: C,
  keys: readonly CardKey[],
): Promise<C & { readonly signatures: readonly AgentCardSignature[] }> {
  if (keys.length === 0) throw new TypeError("keys must contain at least one key");
  const payloads = cardPayloads(card);
  const signatures = readSignatures(card);
  for (const [index, key] of keys.entries()) {
    const sign = await createSigner(key, `keys[${index}]`);
    for (const { bytes } of payloads) signatures.push(await sign(bytes));
  }
  return { ...card, signatures };
}

function readSignatures(card: { signatures?: unknown }): AgentCardSignature[] {
  const { signatures = [] } = card;
  if (!Array.isArray(signatures)) throw new TypeError("card.signatures must be an array");
  return [...(signatures as AgentCardSignature[])];
}

async function createSigner(
  { kid, alg, privateKey, jku }: CardKey,
  name: string,
): Promise<(payload: Uint8Array) => Promise<AgentCardSignature>> {
  if (typeof kid !== "string" || kid === "") throw new TypeError(`${name}.kid must be a string`);
  if (!isCardAlgorithm(alg)) {
    const known = Object.keys(SIGNATURE_ALGORITHMS).join(", ");
    throw new TypeError(`${name}.alg must be one of ${known}`);
  }
  const key = await importKey(alg, privateKey, "sign", `${name}.privateKey`);
  const header = createProtectedHeader({ kid, alg, ...(jku !== undefined && { jku }) });
  const { FlattenedSign } = await import("jose/jws/flattened/sign");
  return async (payload) => {
    const jws = await new FlattenedSign(payload).setProtectedHeader({ ...header }).sign(key);
    // The payload is not sent: it is the card itself.
    return { protected: jws.protected ?? "", signature: jws.signature };
  };
}

export interface VerifyCardOptions {
  /**
   * The trusted keys, or a function that finds them for a signature. Nothing is fetched here, and
   * keys inside a signature are never used. A key is used only if it has the `kid` of the signature.
   * Omit expired and revoked keys.
   */
  readonly keys:
    | readonly CardPublicKey[]
    | ((header: CardSignatureHeader) => Promise<readonly CardPublicKey[]>);
  /** The accepted algorithms. Default: all of {@link CardAlgorithm}. */
  readonly algorithms?: readonly string[];
}

export type CardVerdict =
  | { readonly kind: "unsigned" }
  | { readonly kind: "valid"; readonly kid: string; readonly form: SignedFormName }
  | { readonly kind: "invalid"; readonly reason: string };

type Valid = Extract<CardVerdict, { kind: "valid" }>;
type Payloads = ReturnType<typeof cardPayloads>;

/** Each signature may cost a key lookup, and a real card has a handful. */
const MAX_SIGNATURES = 32;

/**
 * Whether a trusted key has signed the card (1.0 §8.4.3). One valid signature is enough: others may
 * be by parties whose keys we do not have, or over a form that we do not know, and an attacker could
 * remove an invalid one anyway. A card with signatures of which none is valid is invalid, never
 * unsigned.
 *
 * `valid` applies to the content of {@link signedForm} and to nothing else on the card. In the form
 * `spec` that is every 1.0 field of the card; in the form `sdk` it is the same without everything
 * empty. Neither proves that nothing empty was removed: a signer that signs the form of the SDKs
 * signs the reduced card as well.
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
    return await verifyAny(signatures, cardPayloads(card), options);
  } catch (error) {
    return invalid(describeError(error));
  }
}

async function verifyAny(
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
      reasons.push(`signatures[${index}] ${describeError(error)}`);
    }
  }
  return weaker ?? invalid(reasons.join("; "));
}

/** Verifies one signature; throws a TypeError that says why it is not valid. */
async function verifySignature(
  entry: unknown,
  payloads: Payloads,
  options: VerifyCardOptions,
): Promise<Valid> {
  const parts = (entry ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof parts["protected"] !== "string" || typeof parts["signature"] !== "string") {
    throw new TypeError("must have the strings protected and signature");
  }
  const header = readProtectedHeader(parts["protected"], parts["header"]);
  const { alg, kid } = header;
  if (!isCardAlgorithm(alg) || options.algorithms?.includes(alg) === false) {
    throw new TypeError(`uses the algorithm ${JSON.stringify(alg)}, which is not accepted`);
  }
  // jose also accepts padding and white space, which would allow several spellings of a signature.
  if (decodeBase64Url(parts["signature"]) === undefined) {
    throw new TypeError("has a signature that is not base64url");
  }
  const jws = { protected: parts["protected"], signature: parts["signature"] };

  const failures: string[] = [];
  for (const candidate of await keysFor(header, options)) {
    try {
      const key = await importKey(alg, candidate, "verify", `the key ${JSON.stringify(kid)}`);
      for (const { form, payload } of payloads) {
        const fits = await isSignedBy({ ...jws, payload }, key, alg);
        if (fits) return { kind: "valid", kid, form };
      }
      failures.push(`is not by the key ${JSON.stringify(kid)} over this card`);
    } catch (error) {
      failures.push(`cannot be verified: ${describeError(error)}`);
    }
  }
  throw new TypeError(failures.join(", "));
}

/** jose is loaded by those who meet a signature, and by its parts: all of it takes three times as long. */
async function isSignedBy(jws: FlattenedJWSInput, key: CryptoKey, alg: string): Promise<boolean> {
  const { flattenedVerify } = await import("jose/jws/flattened/verify");
  try {
    await flattenedVerify(jws, key, { algorithms: [alg] });
    return true;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED") return false;
    throw error;
  }
}

async function keysFor(
  header: CardSignatureHeader,
  { keys }: VerifyCardOptions,
): Promise<readonly CardPublicKey[]> {
  const found = typeof keys === "function" ? await lookUpKeys(header, keys) : keys;
  const named = found.filter(({ kid }) => kid === header.kid);
  if (named.length === 0)
    throw new TypeError(`is by the unknown key ${JSON.stringify(header.kid)}`);
  return named;
}

/** A failed lookup does not make the card invalid: another signature may still be valid. */
async function lookUpKeys(
  header: CardSignatureHeader,
  find: (header: CardSignatureHeader) => Promise<readonly CardPublicKey[]>,
): Promise<readonly CardPublicKey[]> {
  try {
    return await find(header);
  } catch (error) {
    const name = JSON.stringify(header.kid);
    throw new TypeError(`is by the key ${name}, which was not found: ${describeError(error)}`, {
      cause: error,
    });
  }
}

function invalid(reason: string): CardVerdict {
  return { kind: "invalid", reason };
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
