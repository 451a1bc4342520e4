import { signDelivery } from "@convoke/egress/webhooks";

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
export const TOKEN = "token-of-the-config";
/** The time of the pushes in the tests, in seconds. */
export const SENT_AT = 1_800_000_000;

export const STATUS_UPDATE = {
  statusUpdate: {
    taskId: "t1",
    contextId: "c1",
    status: { state: "TASK_STATE_COMPLETED", timestamp: "2027-01-15T08:00:00.000Z" },
  },
};

export interface PushOverrides {
  readonly id?: string;
  readonly timestamp?: number;
  readonly body?: string;
  readonly secret?: string;
  /** Replaces or, if undefined, removes headers after signing. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

interface APush {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** A 1.0 notification as the server sends it: with token and signature. */
export function aPush(overrides: PushOverrides = {}): APush {
  const { id = "msg_1", timestamp = SENT_AT, secret = SECRET, headers } = overrides;
  const body = overrides.body ?? JSON.stringify(STATUS_UPDATE);
  return {
    body,
    headers: {
      "content-type": "application/a2a+json",
      "a2a-version": "1.0",
      "x-a2a-notification-token": TOKEN,
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signDelivery({ id, timestamp, body, secret }),
      ...headers,
    },
  };
}
