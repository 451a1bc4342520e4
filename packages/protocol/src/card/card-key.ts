import { type CardPublicKey, publicMembers, thumbprint } from "./json-web-key.ts";
import { type CardAlgorithm, SIGNATURE_ALGORITHMS, whyUnfit } from "./signature-algorithms.ts";

/** A key that signs cards. */
export interface CardKey {
  /** Under which name verifiers find the public half. */
  readonly kid: string;
  readonly alg: CardAlgorithm;
  readonly privateKey: JsonWebKey;
  /** Where the public half is published, as a key set over HTTPS. */
  readonly jku?: string;
}

/** A new key, and what to publish of it. */
export interface GeneratedCardKey {
  readonly privateKey: JsonWebKey;
  readonly publicKey: CardPublicKey;
  /** The thumbprint of the key, so that no two keys share a name: RFC 7638. */
  readonly kid: string;
}

/** ES256 unless told otherwise: small signatures, and every JOSE library knows it. */
export async function generateCardKey(alg: CardAlgorithm = "ES256"): Promise<GeneratedCardKey> {
  const { kty, key } = SIGNATURE_ALGORITHMS[alg];
  // As strong as the curves; WebCrypto overlooks what it does not need for the others.
  const size = kty === "RSA" ? { modulusLength: 3072, publicExponent: BYTES_OF_65537 } : {};
  const parameters = { ...key, ...size } as EcKeyGenParams | RsaHashedKeyGenParams;
  const pair = await crypto.subtle.generateKey(parameters, true, ["sign", "verify"]);
  const exported = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const kid = await thumbprint(alg, exported);
  // Exported keys may bear a name of the algorithm that older libraries do not know.
  const privateKey = { ...exported, alg };
  return { privateKey, publicKey: publicHalf({ kid, alg, privateKey }), kid };
}

/** What the address in `jku` has to serve: the public halves, and nothing that is secret. */
export function publicKeySet(keys: readonly CardKey[]): { readonly keys: CardPublicKey[] } {
  return {
    keys: keys.map((key, index) => {
      const unfit = whyUnfit(key.alg, key.privateKey, "sign");
      if (unfit !== undefined) throw new TypeError(`keys[${index}].privateKey ${unfit}`);
      return publicHalf(key);
    }),
  };
}

const BYTES_OF_65537 = new Uint8Array([1, 0, 1]);

function publicHalf({ kid, alg, privateKey }: CardKey): CardPublicKey {
  return { ...publicMembers(alg, privateKey), kid, alg, use: "sig" };
}
