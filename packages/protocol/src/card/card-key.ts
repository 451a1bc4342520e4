import type { CryptoKey, JWK } from "jose";
import { decodeBase64Url } from "../internal/base64url.ts";

/** A key that signs cards. */
export interface CardKey {
  /** The name under which verifiers find the public key. */
  readonly kid: string;
  readonly alg: CardAlgorithm;
  readonly privateKey: JsonWebKey;
  /** Where the public key is published, as a key set over HTTPS. */
  readonly jku?: string;
}

/** A public key as key sets publish it: RFC 7517. */
export type CardPublicKey = JsonWebKey & { readonly kid?: string };

/** A new key pair. */
export interface GeneratedCardKey {
  readonly privateKey: JsonWebKey;
  readonly publicKey: CardPublicKey;
  /** The thumbprint of the key, which makes the name unique: RFC 7638. */
  readonly kid: string;
}

/** Generates a key. Default ES256: its signatures are small, and every JOSE library supports it. */
export async function generateCardKey(alg: CardAlgorithm = "ES256"): Promise<GeneratedCardKey> {
  const { generateKeyPair } = await import("jose/key/generate/keypair");
  // 3072 bits are as strong as the curves. Only RSA uses the option.
  const pair = await generateKeyPair(alg, { extractable: true, modulusLength: 3072 });
  const exported = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const kid = await thumbprint(exported);
  // Exported keys may have a name of the algorithm that older libraries do not know.
  const privateKey = { ...exported, alg };
  return { privateKey, publicKey: publicHalf({ kid, alg, privateKey }), kid };
}

/** The key set to serve at the URL in `jku`: the public keys, and nothing secret. */
export function publicKeySet(keys: readonly CardKey[]): { readonly keys: CardPublicKey[] } {
  return {
    keys: keys.map((key, index) => {
      const unusable = whyUnusable(key.alg, key.privateKey, "sign");
      if (unusable !== undefined) throw new TypeError(`keys[${index}].privateKey ${unusable}`);
      return publicHalf(key);
    }),
  };
}

function publicHalf({ kid, alg, privateKey }: CardKey): CardPublicKey {
  return { ...publicMembers(alg, privateKey), kid, alg, use: "sig" };
}

/** Imports a key, or throws a TypeError that says why it cannot be used. `name` is its name in errors. */
export async function importKey(
  alg: CardAlgorithm,
  key: JsonWebKey,
  operation: "sign" | "verify",
  name: string,
): Promise<CryptoKey> {
  const unusable = whyUnusable(alg, key, operation);
  if (unusable !== undefined) throw new TypeError(`${name} ${unusable}`);
  const secret = operation === "sign" ? pick(key, PRIVATE_MEMBERS) : {};
  if (operation === "sign" && !Object.hasOwn(secret, "d")) {
    throw new TypeError(`${name} must be a private key; it has no "d"`);
  }
  // Only the key material: `whyUnusable` has checked the other members.
  const members = { ...publicMembers(alg, key), ...secret };
  const { importJWK } = await import("jose/key/import");
  try {
    return (await importJWK(members as JWK, alg, { extractable: false })) as CryptoKey;
  } catch (error) {
    throw new TypeError(`${name} is not a usable key for ${alg}`, { cause: error });
  }
}

/** The thumbprint of a key: RFC 7638. */
export async function thumbprint(key: JsonWebKey): Promise<string> {
  const { calculateJwkThumbprint } = await import("jose/jwk/thumbprint");
  return calculateJwkThumbprint(key as JWK);
}

const PUBLIC_MEMBERS = {
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  RSA: ["e", "kty", "n"],
} as const satisfies Record<string, readonly (keyof JsonWebKey)[]>;

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi"] as const;

/** Only the members of the public key. */
function publicMembers(alg: CardAlgorithm, key: JsonWebKey): JsonWebKey {
  return pick(key, PUBLIC_MEMBERS[SIGNATURE_ALGORITHMS[alg].kty]);
}

function pick(key: JsonWebKey, members: readonly (keyof JsonWebKey)[]): JsonWebKey {
  return Object.fromEntries(
    members.filter((member) => key[member] !== undefined).map((member) => [member, key[member]]),
  );
}

interface SignatureAlgorithm {
  readonly kty: "EC" | "OKP" | "RSA";
  readonly crv?: string;
  /** Names that a key may give itself. */
  readonly keyAlgs: readonly string[];
}

/**
 * The algorithms of RFC 7518 and RFC 8037 for signing cards: fewer than jose knows. None has a shared
 * secret: without `HS256` and `none` in the table, a header cannot select them.
 */
export const SIGNATURE_ALGORITHMS = {
  ES256: { kty: "EC", crv: "P-256", keyAlgs: ["ES256"] },
  ES384: { kty: "EC", crv: "P-384", keyAlgs: ["ES384"] },
  EdDSA: { kty: "OKP", crv: "Ed25519", keyAlgs: ["EdDSA", "Ed25519"] },
  RS256: { kty: "RSA", keyAlgs: ["RS256"] },
  PS256: { kty: "RSA", keyAlgs: ["PS256"] },
} as const satisfies Record<string, SignatureAlgorithm>;

export type CardAlgorithm = keyof typeof SIGNATURE_ALGORITHMS;

export function isCardAlgorithm(alg: unknown): alg is CardAlgorithm {
  return typeof alg === "string" && Object.hasOwn(SIGNATURE_ALGORITHMS, alg);
}

/** Why a key must not be used with an algorithm, or `undefined` if it may be used. */
function whyUnusable(
  alg: CardAlgorithm,
  key: JsonWebKey,
  operation: "sign" | "verify",
): string | undefined {
  const { kty, crv, keyAlgs }: SignatureAlgorithm = SIGNATURE_ALGORITHMS[alg];
  if (key.kty !== kty || (crv !== undefined && key.crv !== crv)) {
    return `must be an ${kty} key${crv === undefined ? "" : ` on the curve ${crv}`} for ${alg}`;
  }
  if (key.alg !== undefined && !keyAlgs.includes(key.alg)) return `is for ${key.alg}, not ${alg}`;
  if (key.use !== undefined && key.use !== "sig")
    return "is not for signatures according to its use";
  if (key.key_ops !== undefined && !key.key_ops.includes(operation)) {
    return `must not be used to ${operation} according to its key_ops`;
  }
  return kty === "RSA" && modulusBits(key.n) < 2048 ? "must have 2048 bits or more" : undefined;
}

function modulusBits(modulus: string | undefined): number {
  const [first, ...rest] = decodeBase64Url(modulus ?? "") ?? [];
  return first === undefined ? 0 : 32 - Math.clz32(first) + rest.length * 8;
}
