import type { ProtocolVersion, PublicEvent } from "@convoke/protocol";

/** What a request to the webhook turned out to be. */
export type Received = ReceivedEvent | ReceivedAgain | Refused;

/** Genuine and new: act on it, then answer 2xx. */
interface ReceivedEvent {
  readonly kind: "event";
  readonly deliveryId: string;
  readonly taskId: string;
  readonly version: ProtocolVersion;
  readonly event: PublicEvent;
}

/** Genuine, and received before: answer 2xx and do nothing. */
interface ReceivedAgain {
  readonly kind: "repeated";
  readonly deliveryId: string;
}

/** Not to be trusted or not to be understood: answer with the status. */
export interface Refused {
  readonly kind: "refused";
  readonly status: 400 | 401 | 403 | 413 | 429;
  /** Says what is wrong, and no secret: it may be sent back. */
  readonly reason: string;
}

export function refused(status: Refused["status"], reason: string): Refused {
  return { kind: "refused", status, reason };
}
