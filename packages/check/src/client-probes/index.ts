import { CARD_FORMS, INTERFACES, OTHER_ORIGINS } from "./cards.ts";
import type { ClientProbe } from "./client-probe.ts";
import { TASK_OPERATIONS } from "./operations.ts";
import { CREDENTIALS, IDS, REQUEST_FORM } from "./requests.ts";
import { ERROR_RESPONSES, RESULTS } from "./responses.ts";
import { BROKEN_STREAMS, EVENT_STREAM_FORMS, STREAM_CONTENT } from "./streams.ts";

/** All probes of clients, in the order in which they are offered. A new topic is a line here. */
export const CLIENT_PROBES: readonly ClientProbe[] = [
  ...INTERFACES,
  ...CARD_FORMS,
  ...OTHER_ORIGINS,
  ...REQUEST_FORM,
  ...IDS,
  ...CREDENTIALS,
  ...RESULTS,
  ...ERROR_RESPONSES,
  ...EVENT_STREAM_FORMS,
  ...STREAM_CONTENT,
  ...BROKEN_STREAMS,
  ...TASK_OPERATIONS,
];
