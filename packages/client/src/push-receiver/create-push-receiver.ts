import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { secretKey, signWith } from "@convoke/egress/webhooks";
import {
  A2AError,
  CODECS,
  type ProtocolVersion,
  type PublicEvent,
  parseVersion,
} from "@convoke/protocol";

export interface PushReceiverOptions {
  /** The token of the push config; every notification must carry it. */
  readonly token?: string | undefined;
  /** The signing secret, or several during key rotation: any of them may have signed. */
  readonly secret?: string | readonly string[] | undefined;
  /** Whether notifications about this task are expected. Default: any task. */
  readonly taskIds?: ((taskId: string) => boolean | Promise<boolean>) | undefined;
  /** Maximum clock difference of a delivery, in milliseconds. Default 5 minutes, as Standard Webhooks recommends. */
  readonly toleranceMs?: number | undefined;
  /** Milliseconds since 1970. Default: the system clock. */
  readonly now?: (() => number) | undefined;
  /** How many delivery ids are remembered to detect repetitions. Default 10 000, about a megabyte. */
  readonly remember?: number | undefined;
  /** Maximum number of genuine deliveries per minute; the sender retries the others. Default: no limit. */
  readonly maxPerMinute?: number | undefined;
  /** Larger bodies are rejected. Default 10 MiB, the limit of the Convoke server. */
  readonly maxBytes?: number | undefined;
}

export interface PushRequest {
  readonly headers: RequestHeaders;
  /** The body exactly as received: parsed and serialized again, it would not match its signature. */
  readonly body: string;
}

/** Verifies push notifications: distinguishes genuine, repeated and forged ones. */
export interface PushReceiver {
  /**
   * Verifies a request. Deliveries are made at least once, so a genuine one may arrive again; it is
   * then `repeated`, until it is forgotten, displaced by newer ones, or the process ends. Make your
   * handler idempotent.
   */
  receive(request: PushRequest): Promise<Received>;

  /**
   * For a webhook that could not process a delivery: forget it, respond with 5xx, and the next attempt
   * is an `event` again. Do so before the sender times out: if it has already retried and received
   * 2xx for `repeated`, it will not come back.
   */
  forget(deliveryId: string): void;
}

const MAX_ID_LENGTH = 256;

/** Creates a receiver. At least one of `token` and `secret` is required; the secret protects better. */
export function createPushReceiver(options: PushReceiverOptions): PushReceiver {
  const proofs = parseProofs(options);
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
      // After authentication, so that a flood of forged deliveries cannot block genuine ones.
      if (!rate.take(now())) return refused(429, "more deliveries per minute than the limit");

      const pushed = readEvent(body, headers);
      if (pushed.kind === "refused") return pushed;
      const { taskId, version, event } = pushed;
      if (!(await taskIds(taskId))) return refused(403, "the task is not expected");

      // Last, and without an await: a rejected delivery leaves no trace, and of two concurrent ones only
      // the first is new. Other senders may send no id; then every delivery is new.
      const deliveryId = headers.id ?? randomUUID();
      if (!delivered.add(deliveryId)) return { kind: "repeated", deliveryId };
      return { kind: "event", deliveryId, taskId, version, event };
    },

    forget: (deliveryId) => delivered.delete(deliveryId),
  };
}

function parseProofs({ token, secret, toleranceMs = 5 * 60_000 }: PushReceiverOptions): Proofs {
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
  throw new TypeError(`${name} is ${value}; it must be a number of at least 0`);
}

/** What a genuine delivery must prove. */
interface Proofs {
  readonly token: string | undefined;
  /** One of them must have signed; empty if signatures are not required. */
  readonly keys: readonly Uint8Array[];
  readonly toleranceMs: number;
}

interface Claim {
  readonly headers: PushHeaders;
  readonly body: string;
  readonly now: number;
}

/** Why a delivery is not authentic; `undefined` if it is. */
function authenticate(claim: Claim, proofs: Proofs): Refused | undefined {
  return checkToken(claim, proofs) ?? checkSignature(claim, proofs) ?? checkAge(claim, proofs);
}

function checkToken({ headers }: Claim, { token }: Proofs): Refused | undefined {
  if (token === undefined) return undefined;
  if (headers.token === undefined) return refused(401, "x-a2a-notification-token is missing");
  if (isSame(headers.token, token)) return undefined;
  return refused(401, "x-a2a-notification-token is wrong");
}

const NOT_SECONDS = "webhook-timestamp must be whole seconds since 1970";

function checkSignature({ headers, body }: Claim, { keys }: Proofs): Refused | undefined {
  if (keys.length === 0) return undefined;
  const { id, timestamp, signature } = headers;
  if (id === undefined) return refused(401, "webhook-id is missing");
  if (timestamp === undefined) return refused(401, "webhook-timestamp is missing");
  if (signature === undefined) return refused(401, "webhook-signature is missing");
  const seconds = parseSeconds(timestamp);
  if (seconds === undefined) return refused(400, NOT_SECONDS);
  // Compare the texts, not the decoded bytes: base64 has several spellings of some values.
  const given = signature.split(" ");
  const isGenuine = keys.some((key) => {
    const expected = signWith(key, { id, timestamp: seconds, body });
    return given.some((each) => isSame(each, expected));
  });
  return isGenuine ? undefined : refused(401, "webhook-signature does not match the delivery");
}

/** Without a signature anyone can write a fresh time, but an old one still identifies a delayed delivery. */
function checkAge({ headers, now }: Claim, { toleranceMs }: Proofs): Refused | undefined {
  if (headers.timestamp === undefined) return undefined;
  const seconds = parseSeconds(headers.timestamp);
  if (seconds === undefined) return refused(400, NOT_SECONDS);
  const ageMs = now - seconds * 1000;
  if (ageMs > toleranceMs) return refused(401, "webhook-timestamp is too long ago");
  if (ageMs < -toleranceMs) return refused(401, "webhook-timestamp is in the future");
  return undefined;
}

/** Accepts one spelling only, so that the parsed value is exactly what was signed. */
function parseSeconds(text: string): number | undefined {
  return /^(0|[1-9]\d{0,11})$/.test(text) ? Number(text) : undefined;
}

/** The ids of the latest deliveries; the oldest is dropped first. */
class DeliveryIds {
  readonly #limit: number;
  readonly #ids = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns false if the id is already there. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > this.#limit) {
      const [oldest] = this.#ids;
      if (oldest !== undefined) this.#ids.delete(oldest);
    }
    return true;
  }

  delete(id: string): void {
    this.#ids.delete(id);
  }
}

/** Compares in constant time, independent of position and length. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

const MINUTE_MS = 60_000;

/** Counts deliveries in windows of a minute, each starting with its first delivery. */
class Rate {
  readonly #most: number;
  #begunAt = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether one more is within the limit. */
  take(now: number): boolean {
    if (now - this.#begunAt >= MINUTE_MS) {
      this.#begunAt = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#most;
  }
}

/** A parsed body. */
interface PushedEvent {
  readonly kind: "pushed";
  readonly taskId: string;
  readonly version: ProtocolVersion;
  readonly event: PublicEvent;
}

function readEvent(body: string, headers: PushHeaders): PushedEvent | Refused {
  try {
    const version = versionOf(headers);
    const event = decode(JSON.parse(body), version);
    const taskId = event.kind === "task" ? event.id : event.taskId;
    if (typeof taskId === "string" && taskId !== "") {
      return { kind: "pushed", taskId, version, event };
    }
    return refused(400, `the ${event.kind} in the body names no task`);
  } catch (error) {
    if (A2AError.is(error)) return refused(400, error.detail);
    if (error instanceof SyntaxError) return refused(400, "the body is not JSON");
    return refused(400, "the body is not an A2A notification");
  }
}

/** If the sender does not state its version, the content type decides: it is new in 1.0. */
function versionOf({ version, contentType }: PushHeaders): ProtocolVersion {
  const mediaType = contentType?.split(";")[0]?.trim().toLowerCase();
  return parseVersion(version) ?? (mediaType === "application/a2a+json" ? "1.0" : "0.3");
}

function decode(value: unknown, version: ProtocolVersion): PublicEvent {
  const { kind } = (value ?? {}) as { readonly kind?: unknown };
  // 0.3 pushes tasks; its early senders omitted their kind.
  const isBareTask = version === "0.3" && kind === undefined;
  return isBareTask ? CODECS[version].decodeTask(value) : CODECS[version].decodeEvent(value);
}

/** The headers of a request, as in `fetch` handlers or Node's servers. */
type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The headers that matter to a receiver. */
interface PushHeaders {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  readonly token: string | undefined;
  readonly version: string | undefined;
  readonly contentType: string | undefined;
}

function readHeaders(headers: RequestHeaders): PushHeaders {
  return {
    id: headerValue(headers, "webhook-id"),
    timestamp: headerValue(headers, "webhook-timestamp"),
    signature: headerValue(headers, "webhook-signature"),
    token: headerValue(headers, "x-a2a-notification-token"),
    version: headerValue(headers, "a2a-version"),
    contentType: headerValue(headers, "content-type"),
  };
}

/** A repeated header is joined as `Headers` does, so that it equals neither of its values. */
function headerValue(headers: RequestHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
  return values.length === 0 ? undefined : values.join(", ");
}

/** By its method: frameworks have their own `Headers` classes, and the value of a header named "get" is text. */
function isHeaders(headers: RequestHeaders): headers is Headers {
  return typeof headers.get === "function";
}

/** The result of verifying a request. */
export type Received = ReceivedEvent | RepeatedDelivery | Refused;

/** Genuine and new: process it, then respond with 2xx. */
interface ReceivedEvent {
  readonly kind: "event";
  readonly deliveryId: string;
  readonly taskId: string;
  readonly version: ProtocolVersion;
  readonly event: PublicEvent;
}

/** Genuine, but received before: respond with 2xx and do nothing. */
interface RepeatedDelivery {
  readonly kind: "repeated";
  readonly deliveryId: string;
}

/** Not authentic or not readable: respond with the status. */
interface Refused {
  readonly kind: "refused";
  readonly status: 400 | 401 | 403 | 413 | 429;
  /** What is wrong. Contains no secrets, so it can be sent to the caller. */
  readonly reason: string;
}

function refused(status: Refused["status"], reason: string): Refused {
  return { kind: "refused", status, reason };
}
