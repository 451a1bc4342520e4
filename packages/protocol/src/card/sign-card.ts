import { encodeBase64Url } from "../internal/base64url.ts";
import { type CardKey, SIGNATURE_ALGORITHMS, importKey, isCardAlgorithm } from "./card-key.ts";
import { cardPayloads, signingInput } from "./signed-form.ts";
import { writeProtectedHeader } from "./protected-header.ts";

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
    for (const { payload } of payloads) signatures.push(await sign(payload));
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
): Promise<(payload: string) => Promise<AgentCardSignature>> {
  if (typeof kid !== "string" || kid === "") throw new TypeError(`${name}.kid must be a string`);
  if (!isCardAlgorithm(alg)) {
    const known = Object.keys(SIGNATURE_ALGORITHMS).join(", ");
    throw new TypeError(`${name}.alg must be one of ${known}`);
  }
  const key = await importKey(alg, privateKey, "sign", `${name}.privateKey`);
  const header = writeProtectedHeader({ kid, alg, ...(jku !== undefined && { jku }) });
  return async (payload) => {
    const { use } = SIGNATURE_ALGORITHMS[alg];
    const signature = await crypto.subtle.sign(use, key, signingInput(header, payload));
    return { protected: header, signature: encodeBase64Url(new Uint8Array(signature)) };
  };
}
