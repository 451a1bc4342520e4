import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  CODECS,
  type ProtocolVersion,
  type PublicEvent,
  type PushTarget,
  type Task,
  isPublic,
} from "@convoke/protocol";
import { signDelivery } from "@convoke/egress/webhooks";
import { hash } from "node:crypto";
import type { PushRecord } from "../log/backend.ts";
import type { LogPlace } from "../log/log-entry.ts";

/** The stored form of a push config: what the caller sent, and the protocol version of the notifications. */
export interface StoredTarget extends PushTarget {
  readonly id: string;
  readonly version: ProtocolVersion;
}

export function readTarget(config: string): StoredTarget {
  return JSON.parse(config) as StoredTarget;
}

/** An HTTP POST to a receiver. */
export interface Notification {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface NotificationFacts {
  readonly target: StoredTarget;
  readonly event: PublicEvent;
  /** The task after the event. */
  readonly task: Task;
  /** The same for every attempt, so that a receiver can detect repetitions. */
  readonly deliveryId: string;
  readonly now: number;
  /** Signs the notification as specified by Standard Webhooks. */
  readonly secret: string | undefined;
}

export function createNotification(facts: NotificationFacts): Notification {
  const { target, event, task, deliveryId, now, secret } = facts;
  const { version, token, headers } = target;
  const body = createBody(version, event, task);
  const timestamp = Math.floor(now / 1000);
  const signature = secret && signDelivery({ id: deliveryId, timestamp, body, secret });
  return {
    body,
    headers: {
      ...headers,
      ...authorizationFor(target),
      ...(token && { "x-a2a-notification-token": token }),
      "content-type": version === "1.0" ? "application/a2a+json" : "application/json",
      "a2a-version": version,
      "webhook-id": deliveryId,
      "webhook-timestamp": String(timestamp),
      ...(signature && { "webhook-signature": signature }),
    },
  };
}

/** 0.3 §9.5 sends the whole task; 1.0 §4.3.3 sends the event as in a stream. */
function createBody(version: ProtocolVersion, event: PublicEvent, task: Task): string {
  if (version === "1.0") return CODECS["1.0"].eventText(event, JSON.stringify(event));
  const result = event.kind === "message" ? event : task;
  return JSON.stringify(CODECS["0.3"].encodeSendResult(result));
}

/** Uses the first scheme of the config (0.3 §6.8, 1.0 §4.3.3). */
function authorizationFor({ authentication }: StoredTarget): Record<string, string> {
  const scheme = authentication?.schemes[0];
  if (scheme === undefined) return {};
  const { credentials } = authentication!;
  return { authorization: credentials === undefined ? scheme : `${scheme} ${credentials}` };
}

/** A longer config id is replaced by its hash, because receivers limit the length of headers. */
const MAX_ID_LENGTH = 64;

/**
 * The `webhook-id` of a notification: the same for every attempt, and different
 * for each event and each generation of the config.
 */
export function createDeliveryId(
  { taskId, id, generation }: PushRecord,
  { seq, epoch }: LogPlace,
): string {
  const encoded = encodeURIComponent(id);
  const name = encoded.length <= MAX_ID_LENGTH ? encoded : hash("sha256", id, "base64url");
  return `${taskId}.${name}.${generation}.${epoch === undefined ? "" : `${epoch}.`}${seq}`;
}

/** Whether an event is delivered at all, which can be decided without the task. */
export function isDelivered(event: AgentEvent, chunks: boolean): boolean {
  if (!isPublic(event) || event.kind === "task") return false;
  return event.kind !== "artifact-update" || chunks || event.lastChunk === true;
}

/**
 * The event to deliver, or `undefined`: status updates, complete artifacts, and
 * replies without a task. Chunks are delivered individually only with the option
 * `chunks`; then the last chunk of an artifact is just a chunk.
 *
 * @param task the task after the event
 */
export function toDeliveredEvent(
  event: AgentEvent,
  task: Task,
  chunks: boolean,
): PublicEvent | undefined {
  if (!isPublic(event)) return undefined;
  switch (event.kind) {
    case "status-update":
      return event;
    case "message":
      // Without the task id, the receiver could not tell what the message answers.
      return { ...event, taskId: task.id };
    case "artifact-update":
      return chunks ? event : completeArtifact(event, task);
    case "task":
      // The caller has received it in the response to the request that created it.
      return undefined;
    default:
      return event satisfies never;
  }
}

function completeArtifact(event: ArtifactUpdateEvent, task: Task): PublicEvent | undefined {
  if (event.lastChunk !== true) return undefined;
  const { artifactId } = event.artifact;
  const whole = task.artifacts?.find((artifact) => artifact.artifactId === artifactId);
  return { ...event, artifact: whole ?? event.artifact, append: false };
}
