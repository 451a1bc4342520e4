import { randomUUID } from "node:crypto";
import { type Proofs, authenticate } from "./authenticate.ts";
import { DeliveryIds } from "./delivery-ids.ts";
import { type RequestHeaders, readHeaders } from "./push-headers.ts";
import { Rate } from "./rate.ts";
import { readEvent } from "./read-event.ts";
import { type Received, refused } from "./received.ts";
import { secretKey } from "@convoke/egress/webhooks";

export interface PushReceiverOptions {
  /** The token of the push config; each notification must carry it. */
  readonly token?: string | undefined;
  /** The signing secret. Several while keys are exchanged: any of them may have signed. */
  readonly secret?: string | readonly string[] | undefined;
  /** Whether notifications about this task are expected; by default about any. */
  readonly taskIds?: ((taskId: string) => boolean | Promise<boolean>) | undefined;
  /** How far the time of a delivery may be from ours. 5 minutes, as Standard Webhooks advises. */
  readonly toleranceMs?: number | undefined;
  /** Milliseconds since 1970; by default the clock of the system. */
  readonly now?: (() => number) | undefined;
  /** How many deliveries are remembered, to know one that comes again. 10 000 by default, about a megabyte. */
  readonly remember?: number | undefined;
  /** How many genuine ones are taken within a minute; the sender tries the others again. Any number by default. */
  readonly maxPerMinute?: number | undefined;
  /** Larger bodies are refused. 10 MiB by default, as much as our server takes in. */
  readonly maxBytes?: number | undefined;
}

export interface PushRequest {
  readonly headers: RequestHeaders;
  /** Exactly as it came: parsed and written again, it would no longer fit its signature. */
  readonly body: string;
}

/** What a webhook for push notifications needs: it tells genuine, repeated and forged ones apart. */
export interface PushReceiver {
  /**
   * Judges a request. Deliveries are made at least once, so a genuine one may
   * come again; it is then `repeated`, until it is forgotten, pushed out by
   * newer ones, or the process ends. Act in a way that bears a repetition.
   */
  receive(request: PushRequest): Promise<Received>;

  /**
   * For a webhook that could not act: forget the delivery, answer 5xx, and the
   * next attempt is an `event` again. Do so before the sender stops waiting;
   * one that already tried again was told `repeated` and will not come back.
   */
  forget(deliveryId: string): void;
}

const MAX_ID_LENGTH = 256;

/** Verifies notifications. At least one of `token` and `secret` is needed; the secret protects more. */
export function createPushReceiver(options: PushReceiverOptions): PushReceiver {
  const proofs = proofsOf(options);
  const { taskIds = () => true, now = Date.now } = options;
  const maxBytes = atLeastZero("maxBytes", options.maxBytes ?? 10 * 1024 * 1024);
  const rate = new Rate(atLeastZero("maxPerMinute", options.maxPerMinute ?? Infinity));
  const delivered = new DeliveryIds(atLeastZero("remember", options.remember ?? 10_000));

  return {
    async receive({ headers: given, body }) {
      if (Buffer.byteLength(body) > maxBytes) {
        return refused(413, `the body is larger than ${maxBytes} bytes`);
      }
      const headers = readHeaders(given);
      if ((headers.id?.length ?? 0) > MAX_ID_LENGTH) {
        return refused(400, `webhook-id is longer than ${MAX_ID_LENGTH} characters`);
      }
      const distrust = authenticate({ headers, body, now: now() }, proofs);
      if (distrust) return distrust;
      // Only now: whoever floods us with forged ones must not keep the genuine ones out.
      if (!rate.take(now())) return refused(429, "more came within a minute than are taken");

      const pushed = readEvent(body, headers);
      if (pushed.kind === "refused") return pushed;
      const { taskId, version, event } = pushed;
      if (!(await taskIds(taskId))) return refused(403, "the task is not one of ours");

      // Last, and in one go: what was refused leaves no trace, and of two at the same time one is first.
      // Senders other than ours give no id; each of their deliveries is a new one.
      const deliveryId = headers.id ?? randomUUID();
      if (!delivered.add(deliveryId)) return { kind: "repeated", deliveryId };
      return { kind: "event", deliveryId, taskId, version, event };
    },

    forget: (deliveryId) => delivered.delete(deliveryId),
  };
}

function proofsOf({ token, secret, toleranceMs = 5 * 60_000 }: PushReceiverOptions): Proofs {
  const keys = [secret ?? []].flat().map(secretKey);
  if (token === "") throw new TypeError("the token is empty; use the one of the push config");
  if (token === undefined && keys.length === 0) {
    throw new TypeError(
      "anyone could forge notifications: give the `secret` that the server signs with, or the `token` of the push config",
    );
  }
  return { token, keys, toleranceMs: atLeastZero("toleranceMs", toleranceMs) };
}

function atLeastZero(name: string, value: number): number {
  if (value >= 0) return value;
  throw new TypeError(`${name} is ${value}; it must be a number from 0 on`);
}
