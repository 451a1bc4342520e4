import { randomUUID } from "node:crypto";
import { CODECS, type Codec, PROTO_CODECS, type WireDialect } from "@convoke/protocol";

/** How REST is written in one dialect, so that one test can run in all of them. */
export interface RestDialect {
  readonly name: WireDialect;
  /** The prefix of each path. */
  readonly prefix: "v1/" | "";
  /** Reads the responses to a POST. Requests are written by hand here. */
  readonly codec: Codec;
  /** Reads the responses to a GET. */
  readonly getCodec: Codec;
  readonly message: (text: string, fields?: object) => object;
  /** The configuration of a send that does not wait. */
  readonly atOnce: object;
  /** The state of a canceled task in the response to a GET. */
  readonly canceled: string;
}

export const PROTO_03: RestDialect = {
  name: "0.3-proto",
  prefix: "v1/",
  codec: PROTO_CODECS["0.3"],
  getCodec: PROTO_CODECS["0.3"],
  message: (text, fields) => ({
    messageId: randomUUID(),
    role: "ROLE_USER",
    content: [{ text }],
    ...fields,
  }),
  atOnce: { blocking: false },
  canceled: "TASK_STATE_CANCELLED",
};

export const KIND_03: RestDialect = {
  ...PROTO_03,
  name: "0.3",
  codec: CODECS["0.3"],
  message: (text, fields) => ({
    kind: "message",
    messageId: randomUUID(),
    role: "user",
    parts: [{ kind: "text", text }],
    ...fields,
  }),
};

export const V1: RestDialect = {
  name: "1.0",
  prefix: "",
  codec: CODECS["1.0"],
  getCodec: CODECS["1.0"],
  message: (text, fields) => ({
    messageId: randomUUID(),
    role: "ROLE_USER",
    parts: [{ text }],
    ...fields,
  }),
  atOnce: { returnImmediately: true },
  canceled: "TASK_STATE_CANCELED",
};

/** All dialects. */
export const REST_DIALECTS: readonly RestDialect[] = [PROTO_03, KIND_03, V1];

/** Each version as specified. */
export const OFFICIAL: readonly RestDialect[] = [PROTO_03, V1];
