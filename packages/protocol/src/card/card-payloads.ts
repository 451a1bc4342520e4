import { encodeBase64Url } from "./base64url.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { type SignedFormName, signedForm } from "./signed-form.ts";

/** What is signed, and what of the card it covers. */
interface CardPayload {
  readonly form: SignedFormName;
  /** As the payload of a JWS: base64url. */
  readonly payload: string;
}

/** The forms of a card, the stronger first; one only when nothing in the card is empty. */
export function cardPayloads(card: object): readonly CardPayload[] {
  const spec = payloadOf(card, "spec");
  const sdk = payloadOf(card, "sdk");
  return spec.payload === sdk.payload ? [spec] : [spec, sdk];
}

/** The bytes that are signed: RFC 7515 §5.1. The payload itself does not travel, the card does. */
export function signingInput(protectedHeader: string, payload: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${protectedHeader}.${payload}`);
}

function payloadOf(card: object, form: SignedFormName): CardPayload {
  const text = canonicalJson(signedForm(card, form));
  return { form, payload: encodeBase64Url(new TextEncoder().encode(text)) };
}
