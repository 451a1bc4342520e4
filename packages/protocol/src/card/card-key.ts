import { decodeBase64Url, encodeBase64Url } from "../internal/base64url.ts";
import { canonicalJson } from "../internal/json.ts";

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
  const { kty, key } = SIGNATURE_ALGORITHMS[alg];
  // 3072 bits are as strong as the curves. WebCrypto ignores the parameters for other algorithms.
  const size = kty === "RSA" ? { modulusLength: 3072, publicExponent: BYTES_OF_65537 } : {};
  const parameters = { ...key, ...size } as EcKeyGenParams | RsaHashedKeyGenParams;
  const pair = await crypto.subtle.generateKey(parameters, true, ["sign", "verify"]);
  const exported = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const kid = await thumbprint(alg, exported);
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

const BYTES_OF_65537 = new Uint8Array([1, 0, 1]);

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
  try {
    const { key: parameters } = SIGNATURE_ALGORITHMS[alg];
    return await crypto.subtle.importKey("jwk", members, parameters, false, [operation]);
  } catch (error) {
    throw new TypeError(`${name} is not a usable key for ${alg}`, { cause: error });
  }
}

/** The thumbprint of a key: RFC 7638. */
export async function thumbprint(alg: CardAlgorithm, key: JsonWebKey): Promise<string> {
  const text = new TextEncoder().encode(canonicalJson(publicMembers(alg, key)));
  return encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", text)));
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
  /** What Web Cryptography is told when a key is read or made. */
  readonly key: EcKeyImportParams | RsaHashedImportParams;
  /** What it is told when a key is used. */
  readonly use: EcdsaParams | RsaPssParams | Algorithm;
}

/**
 * The algorithms of RFC 7518 and RFC 8037 for signing cards. None has a shared secret: without
 * `HS256` and `none` in the table, a header cannot select them.
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

function ecdsa(alg: string, crv: string, hash: string) {
  const key: EcKeyImportParams = { name: "ECDSA", namedCurve: crv };
  return { kty: "EC", crv, keyAlgs: [alg], key, use: { name: "ECDSA", hash } } as const;
}

function rsa(alg: string, name: string) {
  const key: RsaHashedImportParams = { name, hash: "SHA-256" };
  // RFC 7518 §3.5: the salt is as long as the hash. RSASSA-PKCS1-v1_5 has none and ignores it.
  return { kty: "RSA", keyAlgs: [alg], key, use: { name, saltLength: 32 } } as const;
}

function modulusBits(modulus: string | undefined): number {
  const [first, ...rest] = decodeBase64Url(modulus ?? "") ?? [];
  return first === undefined ? 0 : 32 - Math.clz32(first) + rest.length * 8;
}
