import type { CardProbe, Probe } from "./probe.ts";
import { CANCEL, TASKS } from "./tasks.ts";
import { CAPABILITIES, EXTENSIONS, VERSIONS } from "./negotiation.ts";
import { CARD_CACHING, CARD_FIELDS, CARD_SIGNATURES } from "./card.ts";
import { CONVERSATIONS, GATE_PROBE, SENDING } from "./sending.ts";
import { CREDENTIALS, TRANSPORT_SECURITY } from "./security.ts";
import { ERROR_FORMS, MEDIA, VALIDATION } from "./validation.ts";
import { FINALITY, STREAMS, SUBSCRIPTIONS } from "./streams.ts";
import { GRPC, JSONRPC, REST } from "./bindings.ts";
import { LISTS } from "./lists.ts";
import { PUSH_CONFIGS } from "./push.ts";
import { SHAPES, WORDS } from "./format.ts";
import { WEBHOOKS } from "./webhooks.ts";

/** All probes of the card. */
export const CARD_PROBES: readonly CardProbe[] = [
  ...CARD_FIELDS,
  ...CARD_CACHING,
  ...CARD_SIGNATURES,
];

/** The first probe at each interface. */
export const GATE = GATE_PROBE;

/** All other probes of an interface, in the order in which they run. A new topic is a line here. */
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
