import { encodeBase64Url } from "../internal/base64url.ts";
import { canonicalJson } from "../internal/json.ts";
import { type SignedFormName, signedForm, signingInput } from "./signed-form.ts";
import { type CardAlgorithm, SIGNATURE_ALGORITHMS, importKey } from "./card-key.ts";
import type { AgentCardSignature } from "./signature.ts";

interface Forgery {
  readonly card: object;
  /** As an object, or as the text that is to be taken for its JSON. */
  readonly header: object | string;
  readonly privateKey: JsonWebKey;
  /** What really happens, whatever the header says. */
  readonly alg?: CardAlgorithm;
  readonly form?: SignedFormName;
}

/** A signature that is right in itself, under a header that no honest signer would write. */
export async function forgedSignature(forgery: Forgery): Promise<AgentCardSignature> {
  const { card, header, privateKey, alg = "ES256", form = "spec" } = forgery;
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const written = base64UrlOf(text);
  const input = signingInput(written, base64UrlOf(canonicalJson(signedForm(card, form))));
  const key = await importKey(alg, privateKey, "sign", "the forger's key");
  const signature = await crypto.subtle.sign(SIGNATURE_ALGORITHMS[alg].use, key, input);
  return { protected: written, signature: encodeBase64Url(new Uint8Array(signature)) };
}

export function base64UrlOf(text: string): string {
  return encodeBase64Url(new TextEncoder().encode(text));
}
