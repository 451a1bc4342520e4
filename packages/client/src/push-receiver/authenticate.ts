import { isSame } from "./is-same.ts";
import type { PushHeaders } from "./push-headers.ts";
import { type Refused, refused } from "./received.ts";
import { signWith } from "@convoke/egress/webhooks";

/** What a genuine delivery must show. */
export interface Proofs {
  readonly token: string | undefined;
  /** One of them must have signed; none when signatures are not asked for. */
  readonly keys: readonly Uint8Array[];
  readonly toleranceMs: number;
}

export interface Claim {
  readonly headers: PushHeaders;
  readonly body: string;
  readonly now: number;
}

/** Why a delivery is not to be trusted, or nothing when it is. */
export function authenticate(claim: Claim, proofs: Proofs): Refused | undefined {
  return checkToken(claim, proofs) ?? checkSignature(claim, proofs) ?? checkAge(claim, proofs);
}

function checkToken({ headers }: Claim, { token }: Proofs): Refused | undefined {
  if (token === undefined) return undefined;
  if (headers.token === undefined) return refused(401, "x-a2a-notification-token is missing");
  if (isSame(headers.token, token)) return undefined;
  return refused(401, "x-a2a-notification-token is not the one that was agreed on");
}

function checkSignature({ headers, body }: Claim, { keys }: Proofs): Refused | undefined {
  if (keys.length === 0) return undefined;
  const { id, timestamp, signature } = headers;
  if (id === undefined) return refused(401, "webhook-id is missing");
  if (timestamp === undefined) return refused(401, "webhook-timestamp is missing");
  if (signature === undefined) return refused(401, "webhook-signature is missing");
  const seconds = secondsOf(timestamp);
  if (seconds === undefined) return refused(400, NOT_SECONDS);
  // The texts are compared, not the bytes they stand for: base64 has more than one spelling of some.
  const given = signature.split(" ");
  const isGenuine = keys.some((key) => {
    const expected = signWith(key, { id, timestamp: seconds, body });
    return given.some((each) => isSame(each, expected));
  });
  return isGenuine ? undefined : refused(401, "webhook-signature does not match the delivery");
}

/** Without a signature anyone can write a fresh time, yet an old one still tells of a delivery that got stuck. */
function checkAge({ headers, now }: Claim, { toleranceMs }: Proofs): Refused | undefined {
  if (headers.timestamp === undefined) return undefined;
  const seconds = secondsOf(headers.timestamp);
  if (seconds === undefined) return refused(400, NOT_SECONDS);
  const ageMs = now - seconds * 1000;
  if (ageMs > toleranceMs) return refused(401, "webhook-timestamp is too long ago");
  if (ageMs < -toleranceMs) return refused(401, "webhook-timestamp is in the future");
  return undefined;
}

const NOT_SECONDS = "webhook-timestamp must be whole seconds since 1970";

/** One spelling only, so that what is read is exactly what was signed. */
function secondsOf(text: string): number | undefined {
  return /^(0|[1-9]\d{0,11})$/.test(text) ? Number(text) : undefined;
}
