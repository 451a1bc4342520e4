import { encodeBase64Url } from "./base64url.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { type CardAlgorithm, SIGNATURE_ALGORITHMS, whyUnfit } from "./signature-algorithms.ts";

/** A public key as key sets publish it: RFC 7517. */
export type CardPublicKey = JsonWebKey & { readonly kid?: string };

const PUBLIC_MEMBERS = {
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  RSA: ["e", "kty", "n"],
} as const satisfies Record<string, readonly (keyof JsonWebKey)[]>;

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi"] as const;

/** The members that make up the public key, and no other. */
export function publicMembers(alg: CardAlgorithm, key: JsonWebKey): JsonWebKey {
  return pick(key, PUBLIC_MEMBERS[SIGNATURE_ALGORITHMS[alg].kty]);
}

/** A key ready for use, or an error that says why it is none. `name` is what the error calls it. */
export async function importKey(
  alg: CardAlgorithm,
  key: JsonWebKey,
  operation: "sign" | "verify",
  name: string,
): Promise<CryptoKey> {
  const unfit = whyUnfit(alg, key, operation);
  if (unfit !== undefined) throw new TypeError(`${name} ${unfit}`);
  const secret = operation === "sign" ? pick(key, PRIVATE_MEMBERS) : {};
  if (operation === "sign" && !Object.hasOwn(secret, "d")) {
    throw new TypeError(`${name} must be a private key; it has no "d"`);
  }
  // Only what makes up the key: what it says about itself has been looked at above.
  const members = { ...publicMembers(alg, key), ...secret };
  try {
    const { key: parameters } = SIGNATURE_ALGORITHMS[alg];
    return await crypto.subtle.importKey("jwk", members, parameters, false, [operation]);
  } catch (error) {
    throw new TypeError(`${name} is no usable key for ${alg}`, { cause: error });
  }
}

/** The name that follows from the key itself: RFC 7638. */
export async function thumbprint(alg: CardAlgorithm, key: JsonWebKey): Promise<string> {
  const text = new TextEncoder().encode(canonicalJson(publicMembers(alg, key)));
  return encodeBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", text)));
}

function pick(key: JsonWebKey, members: readonly (keyof JsonWebKey)[]): JsonWebKey {
  return Object.fromEntries(
    members.filter((member) => key[member] !== undefined).map((member) => [member, key[member]]),
  );
}
