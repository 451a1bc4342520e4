import type { Codec } from "../codec/codec.ts";
import { codecV03 } from "../v0_3/codec.ts";
import {
  decodeEvent,
  decodeSendResult,
  decodeTask,
  decodeTaskPage,
  encodeEvent,
  encodeTask,
  eventText,
} from "./task.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";

/**
 * A2A 0.3 in ProtoJSON, for REST and gRPC. Card and errors are the same as on JSON-RPC. Servers
 * need not support listing tasks.
 */
export const codecV03Proto: Codec = {
  ...codecV03,
  dialect: "0.3-proto",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  decodeTaskPage,
  encodeSendResult: encodeEvent,
  decodeSendResult,
  encodeEvent,
  decodeEvent,
  eventText,
};
