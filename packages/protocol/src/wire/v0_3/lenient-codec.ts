import type { PublicEvent } from "../../events.ts";
import type { Codec } from "../codec.ts";
import { codecV03 } from "./codec.ts";
import { withInputRequest } from "./input-request.ts";

/** A2A 0.3 in its JSON-RPC dialect, with what early documents of it have besides. */
export const lenientCodecV03: Codec = {
  ...codecV03,
  encodeTask: (task) => codecV03.encodeTask(withInputRequest(task)),
  encodeSendResult: (result) => codecV03.encodeSendResult(withInputRequest(result)),
  encodeEvent: (event) => codecV03.encodeEvent(withInputRequest(event)),
  eventText: (event, json) => {
    const asked: PublicEvent = withInputRequest(event);
    return codecV03.eventText(asked, asked === event ? json : JSON.stringify(asked));
  },
};
