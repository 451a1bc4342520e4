import type { ProtocolVersion } from "../model/operations.ts";
import type { Codec } from "./codec/codec.ts";
import { withInputRequests } from "./legacy/input-request.ts";
import { codecV03 } from "./v0_3/codec.ts";
import { codecV03Proto } from "./v0_3_proto/codec.ts";
import { codecV1 } from "./v1/codec.ts";

/** The codec of each wire version on JSON-RPC. */
export const CODECS = { "0.3": codecV03, "1.0": codecV1 } as const satisfies Record<
  ProtocolVersion,
  Codec
>;

/** The same for servers that are not strict: they also send legacy forms. */
export const LEGACY_CODECS: Readonly<Record<ProtocolVersion, Codec>> = {
  "0.3": withInputRequests(codecV03),
  "1.0": codecV1,
};

/** The codec of each wire version on REST and gRPC, which use ProtoJSON. */
export const PROTO_CODECS: Readonly<Record<ProtocolVersion, Codec>> = {
  "0.3": codecV03Proto,
  "1.0": codecV1,
};
