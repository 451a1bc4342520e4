import { CODECS, type ProtocolVersion, type PublicEvent, type Task } from "@convoke/protocol";
import { signDelivery } from "@convoke/egress/webhooks";
import type { StoredTarget } from "./stored-target.ts";

/** What is posted to a receiver. */
export interface Notification {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface NotificationFacts {
  readonly target: StoredTarget;
  readonly event: PublicEvent;
  /** The task after the event. */
  readonly task: Task;
  /** The same for every attempt, so that a receiver can tell a repetition. */
  readonly deliveryId: string;
  readonly now: number;
  /** Signs the notification, as Standard Webhooks has it. */
  readonly secret: string | undefined;
}

export function notificationOf(facts: NotificationFacts): Notification {
  const { target, event, task, deliveryId, now, secret } = facts;
  const { version, token, headers } = target;
  const body = bodyOf(version, event, task);
  const timestamp = Math.floor(now / 1000);
  const signature = secret && signDelivery({ id: deliveryId, timestamp, body, secret });
  return {
    body,
    headers: {
      ...headers,
      ...authorizationOf(target),
      ...(token && { "x-a2a-notification-token": token }),
      "content-type": version === "1.0" ? "application/a2a+json" : "application/json",
      "a2a-version": version,
      "webhook-id": deliveryId,
      "webhook-timestamp": String(timestamp),
      ...(signature && { "webhook-signature": signature }),
    },
  };
}

/** 0.3 §9.5 shows the whole task; 1.0 §4.3.3 has the event, as a stream would show it. */
function bodyOf(version: ProtocolVersion, event: PublicEvent, task: Task): string {
  if (version === "1.0") return CODECS["1.0"].eventText(event, JSON.stringify(event));
  const shown = event.kind === "message" ? event : task;
  return JSON.stringify(CODECS["0.3"].encodeSendResult(shown));
}

/** The first scheme that was given (0.3 §6.8, 1.0 §4.3.3). */
function authorizationOf({ authentication }: StoredTarget): Record<string, string> {
  const scheme = authentication?.schemes[0];
  if (scheme === undefined) return {};
  const { credentials } = authentication!;
  return { authorization: credentials === undefined ? scheme : `${scheme} ${credentials}` };
}
