import { randomUUID } from "node:crypto";
import { CODECS, type Codec, type ProtocolVersion } from "@convoke/protocol";

/** How one wire version is written, so that one test can run in both. */
export interface Dialect {
  readonly version: ProtocolVersion;
  readonly methods: Readonly<Record<Verb, string>>;
  /** Reads responses. Requests are written by hand: a test must be able to send anything. */
  readonly codec: Codec;
  /** The role of a caller. */
  readonly user: string;
  /** The configuration of a send that does not wait. */
  readonly atOnce: object;
  /** The configuration that requests push notifications. */
  readonly pushing: object;
  /** A text part. */
  readonly text: (text: string) => object;
}

export type Verb = "send" | "stream" | "get" | "cancel" | "subscribe";

const V03: Dialect = {
  version: "0.3",
  methods: {
    send: "message/send",
    stream: "message/stream",
    get: "tasks/get",
    cancel: "tasks/cancel",
    subscribe: "tasks/resubscribe",
  },
  codec: CODECS["0.3"],
  user: "user",
  atOnce: { blocking: false },
  pushing: { pushNotificationConfig: { url: "https://hooks.example.com/" } },
  text: (text) => ({ kind: "text", text }),
};

const V1: Dialect = {
  version: "1.0",
  methods: {
    send: "SendMessage",
    stream: "SendStreamingMessage",
    get: "GetTask",
    cancel: "CancelTask",
    subscribe: "SubscribeToTask",
  },
  codec: CODECS["1.0"],
  user: "ROLE_USER",
  atOnce: { returnImmediately: true },
  pushing: { taskPushNotificationConfig: { url: "https://hooks.example.com/" } },
  text: (text) => ({ text }),
};

export const DIALECTS: readonly Dialect[] = [V03, V1];

/** An ordinary message with one text; a test overrides only what matters to it. */
export function aMessage(dialect: Dialect, text: string, fields: object = {}): object {
  return {
    messageId: randomUUID(),
    role: dialect.user,
    parts: [dialect.text(text)],
    ...fields,
  };
}
