import { type Egress, EgressError } from "@convoke/egress";
import type { Notification } from "./notification.ts";
import type { Outcome } from "./endpoint.ts";

/** 1.0 §4.3.3 recommends 10 to 30 s. */
const TIMEOUT_MS = 15_000;

export interface AttemptOptions {
  readonly egress: Egress;
  readonly url: string;
  readonly notification: Notification;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

/** Posts a notification once. Only a 2xx counts; a redirect is not followed, because it could lead anywhere. */
export async function attemptDelivery(options: AttemptOptions): Promise<Outcome> {
  const { egress, url, notification, signal, timeoutMs = TIMEOUT_MS } = options;
  try {
    const { status, headers } = await egress.post(url, { ...notification, timeoutMs, signal });
    if (status >= 200 && status < 300) return { kind: "delivered" };
    if (status === 410) return { kind: "gone", problem: "the receiver answered 410 (gone)" };
    const retryAfterMs = retryAfter(headers["retry-after"]);
    return {
      kind: "failed",
      problem: `the receiver answered ${status}`,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  } catch (error) {
    const problem = error instanceof EgressError ? error.message : "the notification was not sent";
    return { kind: "failed", problem };
  }
}

function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
