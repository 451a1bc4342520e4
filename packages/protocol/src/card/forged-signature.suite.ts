import { encodeBase64Url } from "../internal/base64url.ts";
import { canonicalJson } from "../internal/json.ts";
import { type SignedFormName, signedForm } from "./signed-form.ts";
import type { AgentCardSignature } from "./signature.ts";

/** Web Cryptography parameters: how a key is imported, and how it is used. */
const ALGORITHMS = {
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  PS256: { name: "RSA-PSS", hash: "SHA-256", saltLength: 32 },
};

interface Forgery {
  readonly card: object;
  /** As an object, or as the text that is used as its JSON. */
  readonly header: object | string;
  readonly privateKey: JsonWebKey;
  /** What is actually done, whatever the header says. */
  readonly alg?: keyof typeof ALGORITHMS;
  readonly form?: SignedFormName;
}

/** A correct signature under a header that no honest signer would write. */
export async function forgedSignature(forgery: Forgery): Promise<AgentCardSignature> {
  const { card, header, privateKey, alg = "ES256", form = "spec" } = forgery;
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const written = base64UrlOf(text);
  const payload = base64UrlOf(canonicalJson(signedForm(card, form)));
  const input = new TextEncoder().encode(`${written}.${payload}`);
  // By hand, not with jose, which would reject such headers.
  const use = ALGORITHMS[alg];
  const key = await crypto.subtle.importKey("jwk", privateKey, use, false, ["sign"]);
  const signature = await crypto.subtle.sign(use, key, input);
  return { protected: written, signature: encodeBase64Url(new Uint8Array(signature)) };
}

export function base64UrlOf(text: string): string {
  return encodeBase64Url(new TextEncoder().encode(text));
}
