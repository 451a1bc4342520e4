import type { ProtocolVersion } from "../version.ts";
import type { Codec } from "./codec.ts";
import { codecV03 } from "./v0_3/codec.ts";
import { codecV1 } from "./v1/codec.ts";

/** The codec of each wire version. */
export const CODECS = { "0.3": codecV03, "1.0": codecV1 } as const satisfies Record<
  ProtocolVersion,
  Codec
>;
