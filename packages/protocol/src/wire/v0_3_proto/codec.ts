import type { Codec } from "../codec.ts";
import { codecV03 } from "../v0_3/codec.ts";
import { decodeEvent, decodeSendResult, encodeEvent, eventText } from "./event.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";
import { decodeTask, encodeTask } from "./task.ts";
import { decodeTaskPage, encodeListTasks } from "./task-page.ts";

/**
 * A2A 0.3 in ProtoJSON, which its REST and gRPC speak. The card and the errors
 * are those of its other dialect. Servers need not have the list of tasks.
 */
export const codecV03Proto: Codec = {
  ...codecV03,
  dialect: "0.3-proto",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  encodeListTasks,
  decodeTaskPage,
  encodeSendResult: encodeEvent,
  decodeSendResult,
  encodeEvent,
  decodeEvent,
  eventText,
};
