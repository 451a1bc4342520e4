import type { CardProbe, Probe } from "./probe.ts";
import { CANCEL } from "./probes/cancel.ts";
import { CAPABILITIES } from "./probes/capabilities.ts";
import { CARD_CACHING } from "./probes/card-caching.ts";
import { CARD_FIELDS } from "./probes/card-fields.ts";
import { CARD_SIGNATURES } from "./probes/card-signatures.ts";
import { CONVERSATIONS } from "./probes/conversations.ts";
import { CREDENTIALS } from "./probes/credentials.ts";
import { ERROR_FORMS } from "./probes/errors.ts";
import { EXTENSIONS } from "./probes/extensions.ts";
import { FINALITY } from "./probes/finality.ts";
import { GATE_PROBE } from "./probes/gate.ts";
import { GRPC } from "./probes/grpc.ts";
import { JSONRPC } from "./probes/jsonrpc.ts";
import { LISTS } from "./probes/lists.ts";
import { MEDIA } from "./probes/media.ts";
import { PUSH_CONFIGS } from "./probes/push-configs.ts";
import { REST } from "./probes/rest.ts";
import { SENDING } from "./probes/sending.ts";
import { SHAPES } from "./probes/shapes.ts";
import { STREAMS } from "./probes/streams.ts";
import { SUBSCRIPTIONS } from "./probes/subscriptions.ts";
import { TASKS } from "./probes/tasks.ts";
import { TRANSPORT_SECURITY } from "./probes/transport-security.ts";
import { VALIDATION } from "./probes/validation.ts";
import { VERSIONS } from "./probes/versions.ts";
import { WEBHOOKS } from "./probes/webhooks.ts";
import { WORDS } from "./probes/words.ts";

/** Everything that is tried at the card. */
export const CARD_PROBES: readonly CardProbe[] = [
  ...CARD_FIELDS,
  ...CARD_CACHING,
  ...CARD_SIGNATURES,
];

/** What is tried first at an interface. */
export const GATE = GATE_PROBE;

/** Everything else that is tried at an interface, in this order. A new subject is a line here. */
export const PROBES: readonly Probe[] = [
  ...TRANSPORT_SECURITY,
  ...CREDENTIALS,
  ...VERSIONS,
  ...SENDING,
  ...STREAMS,
  ...SHAPES,
  ...WORDS,
  ...TASKS,
  ...LISTS,
  ...CONVERSATIONS,
  ...VALIDATION,
  ...MEDIA,
  ...FINALITY,
  ...SUBSCRIPTIONS,
  ...CANCEL,
  ...CAPABILITIES,
  ...PUSH_CONFIGS,
  ...WEBHOOKS,
  ...EXTENSIONS,
  ...ERROR_FORMS,
  ...JSONRPC,
  ...REST,
  ...GRPC,
];
