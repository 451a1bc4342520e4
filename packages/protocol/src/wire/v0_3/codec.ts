import { A2AError } from "../../errors.ts";
import type { Codec } from "../codec.ts";
import { encodeCard } from "./agent-card.ts";
import { encodeError } from "./error.ts";
import { decodeEvent, encodeEvent, eventText } from "./event.ts";
import { kindOf } from "./early-forms.ts";
import { decodeSentMessage, encodeMessage } from "./message.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";
import { decodeTask, encodeTask } from "./task.ts";

/** A2A 0.3 in its JSON-RPC dialect. */
export const codecV03: Codec = {
  version: "0.3",
  dialect: "0.3",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  encodeListTasks: noList,
  encodeTaskPage: noList,
  decodeTaskPage: noList,
  encodeSendResult: (result) =>
    result.kind === "task" ? encodeTask(result) : encodeMessage(result),
  decodeSendResult: (value) =>
    kindOf(value) === "message" ? decodeSentMessage(value, "result") : decodeTask(value),
  encodeEvent,
  decodeEvent,
  eventText,
  encodeError,
  encodeCard,
};

function noList(): never {
  throw new A2AError("UnsupportedOperation", "listing tasks needs A2A 1.0");
}
