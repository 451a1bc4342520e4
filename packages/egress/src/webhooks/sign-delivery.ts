import { createHmac } from "node:crypto";

/** The fields that a signature covers. */
export interface Delivery {
  /** The `webhook-id`: the same in every attempt of the delivery. */
  readonly id: string;
  /** The `webhook-timestamp`: the time of the attempt, in seconds since 1970. */
  readonly timestamp: number;
  /** The body exactly as it is sent. */
  readonly body: string;
}

/** The `webhook-signature` of a delivery (Standard Webhooks 1.0): `v1,<base64>`. */
export function signDelivery({ secret, ...delivery }: Delivery & { secret: string }): string {
  return signWith(secretKey(secret), delivery);
}

export function signWith(key: Uint8Array, { id, timestamp, body }: Delivery): string {
  const code = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return `v1,${code}`;
}

const PREFIX = "whsec_";

/** The bytes of a signing secret: base64 after the prefix `whsec_` (Standard Webhooks), or any other text as UTF-8. */
export function secretKey(secret: string): Uint8Array {
  if (secret === "")
    throw new TypeError("the signing secret is empty; use at least 24 random bytes");
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret, "utf8");
  const encoded = secret.slice(PREFIX.length);
  // Node's decoder skips invalid characters: a mistyped secret would become a shorter one.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    throw new TypeError(
      `a signing secret that begins with "${PREFIX}" must continue in base64; correct it or drop the prefix`,
    );
  }
  return Buffer.from(encoded, "base64");
}
