import type { DiscoveredCard } from "@convoke/client";
import { listField, textField } from "./json-fields.ts";
import { oneLine } from "@convoke/protocol/internal";

/** What a signature that holds says, for programs. */
export interface SignatureFacts {
  readonly verified: true;
  readonly cardUrl: string;
  readonly keyId: string;
  /** Several when the key has signed the card several times. */
  readonly algorithms: readonly string[];
  readonly form: string;
}

const FORMS: Readonly<Record<string, string>> = {
  spec: "spec (everything that the card says in the words of 1.0)",
  sdk: "sdk (what the card says, without what is empty)",
};

/** What was verified; for cards whose signature holds, all others are errors before. */
export function signatureFacts({ card, cardUrl, signature }: DiscoveredCard): SignatureFacts {
  if (signature?.kind !== "valid") throw new Error("a card that does not hold was let through");
  const { kid: keyId, form } = signature;
  const headers = listField(card, "signatures").map(protectedHeader);
  const own = headers.filter((header) => textField(header, "kid") === keyId);
  const algorithms = [...new Set(own.map((header) => textField(header, "alg")))];
  return { verified: true, cardUrl, keyId, algorithms, form };
}

export function describeSignature({ cardUrl, keyId, algorithms, form }: SignatureFacts): string {
  return `The card at ${oneLine(cardUrl)} is signed, and the signature holds.

  Key        ${oneLine(keyId)}
  Algorithm  ${oneLine(algorithms.join(", "))}
  Form       ${FORMS[form] ?? oneLine(form)}
`;
}

function protectedHeader(signature: unknown): unknown {
  const text = Buffer.from(textField(signature, "protected"), "base64url").toString();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
