import { createHmac } from "node:crypto";
import { secretKey } from "./secret-key.ts";

/** What a signature covers. */
export interface Delivery {
  /** The `webhook-id`: the same each time the delivery is tried. */
  readonly id: string;
  /** The `webhook-timestamp`: when it was tried, in seconds since 1970. */
  readonly timestamp: number;
  /** Byte for byte as it is sent. */
  readonly body: string;
}

/** The `webhook-signature` of a delivery, as Standard Webhooks 1.0 has it: `v1,<base64>`. */
export function signDelivery({ secret, ...delivery }: Delivery & { secret: string }): string {
  return signWith(secretKey(secret), delivery);
}

export function signWith(key: Uint8Array, { id, timestamp, body }: Delivery): string {
  const code = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return `v1,${code}`;
}
