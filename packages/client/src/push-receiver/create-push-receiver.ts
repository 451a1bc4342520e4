import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { secretKey, signWith } from "@convoke/egress/webhooks";
import {
  A2AError,
  CODECS,
  type ProtocolVersion,
  type PublicEvent,
  parseVersion,
} from "@convoke/protocol";

const MINUTE_MS = 60_000;

const NOT_SECONDS = "webhook-timestamp must be whole seconds since 1970";

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

/** What a genuine delivery must show. */
interface Proofs {
  readonly token: string | undefined;
  /** One of them must have signed; none when signatures are not asked for. */
  readonly keys: readonly Uint8Array[];
  readonly toleranceMs: number;
}

interface Claim {
  readonly headers: PushHeaders;
  readonly body: string;
  readonly now: number;
}

/** Why a delivery is not to be trusted, or nothing when it is. */
function authenticate(claim: Claim, proofs: Proofs): Refused | undefined {
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

/** One spelling only, so that what is read is exactly what was signed. */
function secondsOf(text: string): number | undefined {
  return /^(0|[1-9]\d{0,11})$/.test(text) ? Number(text) : undefined;
}

/** The latest deliveries, as many as fit. The oldest makes room for a new one. */
class DeliveryIds {
  readonly #limit: number;
  readonly #ids = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when the id is there already. */
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

/** Compares in a time that tells nothing about where two texts differ, nor about their lengths. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Counts what comes within a minute, which begins with the first. */
class Rate {
  readonly #most: number;
  #begunAt = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether one more may come. */
  take(now: number): boolean {
    if (now - this.#begunAt >= MINUTE_MS) {
      this.#begunAt = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#most;
  }
}

/** A body that was understood. */
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

/** Senders that do not say their version are told apart by the content type, which is new in 1.0. */
function versionOf({ version, contentType }: PushHeaders): ProtocolVersion {
  const mediaType = contentType?.split(";")[0]?.trim().toLowerCase();
  return parseVersion(version) ?? (mediaType === "application/a2a+json" ? "1.0" : "0.3");
}

function decode(value: unknown, version: ProtocolVersion): PublicEvent {
  const { kind } = (value ?? {}) as { readonly kind?: unknown };
  // 0.3 pushes tasks; early senders of it left out their kind.
  const isBareTask = version === "0.3" && kind === undefined;
  return isBareTask ? CODECS[version].decodeTask(value) : CODECS[version].decodeEvent(value);
}

/** The headers of a request, as `fetch` handlers or Node's servers have them. */
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
    id: valueOf(headers, "webhook-id"),
    timestamp: valueOf(headers, "webhook-timestamp"),
    signature: valueOf(headers, "webhook-signature"),
    token: valueOf(headers, "x-a2a-notification-token"),
    version: valueOf(headers, "a2a-version"),
    contentType: valueOf(headers, "content-type"),
  };
}

/** A header that was sent twice is joined as `Headers` joins it, and so equals neither of the two. */
function valueOf(headers: RequestHeaders, name: string): string | undefined {
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const values = Object.entries(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
  return values.length === 0 ? undefined : values.join(", ");
}

/** By its method: frameworks bring their own `Headers`, and a header called "get" is text. */
function isHeaders(headers: RequestHeaders): headers is Headers {
  return typeof headers.get === "function";
}

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
interface Refused {
  readonly kind: "refused";
  readonly status: 400 | 401 | 403 | 413 | 429;
  /** Says what is wrong, and no secret: it may be sent back. */
  readonly reason: string;
}

function refused(status: Refused["status"], reason: string): Refused {
  return { kind: "refused", status, reason };
}
