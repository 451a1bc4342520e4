import { A2AError } from "../../errors.ts";
import type { Codec } from "../codec.ts";
import { encodeCard } from "./agent-card.ts";
import { encodeError } from "./error.ts";
import { decodeEvent, encodeEvent, eventText } from "./event.ts";
import * as pushConfigs from "./push-config.ts";
import * as requests from "./requests.ts";
import { decodeTask, decodeTaskPage, encodeTask, encodeTaskPage } from "./task.ts";

/** A2A 1.0 in ProtoJSON. */
export const codecV1: Codec = {
  version: "1.0",
  dialect: "1.0",
  ...requests,
  ...pushConfigs,
  encodeTask,
  decodeTask,
  encodeTaskPage,
  decodeTaskPage,
  encodeSendResult: encodeEvent,
  decodeSendResult: (value) => {
    const result = decodeEvent(value);
    if (result.kind === "task" || result.kind === "message") return result;
    throw new A2AError("InvalidAgentResponse", "the answer is neither a task nor a message");
  },
  encodeEvent,
  decodeEvent,
  eventText,
  encodeError,
  encodeCard,
};
