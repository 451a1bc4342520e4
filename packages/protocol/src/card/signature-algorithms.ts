import { decodeBase64Url } from "./base64url.ts";

interface SignatureAlgorithm {
  readonly kty: "EC" | "OKP" | "RSA";
  readonly crv?: string;
  /** Names that a key may give itself. */
  readonly keyAlgs: readonly string[];
  /** What Web Cryptography is told when a key is read or made. */
  readonly key: EcKeyImportParams | RsaHashedImportParams;
  /** What it is told when a key is used. */
  readonly use: EcdsaParams | RsaPssParams | Algorithm;
}

/**
 * Algorithms of RFC 7518 and RFC 8037 with which cards are signed. None has a shared secret: a
 * table without `HS256` and `none` cannot be talked into them.
 */
export const SIGNATURE_ALGORITHMS = {
  ES256: ecdsa("ES256", "P-256", "SHA-256"),
  ES384: ecdsa("ES384", "P-384", "SHA-384"),
  EdDSA: {
    kty: "OKP",
    crv: "Ed25519",
    keyAlgs: ["EdDSA", "Ed25519"],
    key: { name: "Ed25519" } as EcKeyImportParams,
    use: { name: "Ed25519" },
  },
  RS256: rsa("RS256", "RSASSA-PKCS1-v1_5"),
  PS256: rsa("PS256", "RSA-PSS"),
} as const satisfies Record<string, SignatureAlgorithm>;

export type CardAlgorithm = keyof typeof SIGNATURE_ALGORITHMS;

export function isCardAlgorithm(alg: unknown): alg is CardAlgorithm {
  return typeof alg === "string" && Object.hasOwn(SIGNATURE_ALGORITHMS, alg);
}

/** Why a key must not be used with an algorithm, or `undefined` when it may. */
export function whyUnfit(
  alg: CardAlgorithm,
  key: JsonWebKey,
  operation: "sign" | "verify",
): string | undefined {
  const { kty, crv, keyAlgs }: SignatureAlgorithm = SIGNATURE_ALGORITHMS[alg];
  if (key.kty !== kty || (crv !== undefined && key.crv !== crv)) {
    return `must be an ${kty} key${crv === undefined ? "" : ` on the curve ${crv}`} for ${alg}`;
  }
  if (key.alg !== undefined && !keyAlgs.includes(key.alg)) return `is for ${key.alg}, not ${alg}`;
  if (key.use !== undefined && key.use !== "sig") return "is not for signatures, by its use";
  if (key.key_ops !== undefined && !key.key_ops.includes(operation)) {
    return `is not there to ${operation}, by its key_ops`;
  }
  return kty === "RSA" && bitsOf(key.n) < 2048 ? "must have 2048 bits or more" : undefined;
}

function ecdsa(alg: string, crv: string, hash: string) {
  const key: EcKeyImportParams = { name: "ECDSA", namedCurve: crv };
  return { kty: "EC", crv, keyAlgs: [alg], key, use: { name: "ECDSA", hash } } as const;
}

function rsa(alg: string, name: string) {
  const key: RsaHashedImportParams = { name, hash: "SHA-256" };
  // The salt is as long as the hash: RFC 7518 §3.5. The older scheme has none and ignores it.
  return { kty: "RSA", keyAlgs: [alg], key, use: { name, saltLength: 32 } } as const;
}

function bitsOf(modulus: string | undefined): number {
  const [first, ...rest] = decodeBase64Url(modulus ?? "") ?? [];
  return first === undefined ? 0 : 32 - Math.clz32(first) + rest.length * 8;
}
