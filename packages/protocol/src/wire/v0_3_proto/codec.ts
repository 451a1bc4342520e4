import type { Codec } from "../codec.ts";
import { codecV03 } from "../v0_3/codec.ts";
import { decodeEvent, decodeSendResult, encodeEvent, eventText } from "./event.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";
import { decodeTask, encodeTask } from "./task.ts";

/**
 * A2A 0.3 in ProtoJSON, which its REST and gRPC speak. The card, the errors and
 * the missing list of tasks are those of its other dialect.
 */
export const codecV03Proto: Codec = {
  ...codecV03,
  dialect: "0.3-proto",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  encodeSendResult: encodeEvent,
  decodeSendResult,
  encodeEvent,
  decodeEvent,
  eventText,
};
