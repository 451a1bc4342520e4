import type { CardProbe, Probe } from "./probe.ts";
import { CANCEL, TASKS } from "./tasks.ts";
import { CAPABILITIES, EXTENSIONS, VERSIONS } from "./negotiation.ts";
import { CARD_CACHING, CARD_FIELDS, CARD_SIGNATURES } from "./card.ts";
import { CONVERSATIONS, GATE_PROBE, SENDING } from "./sending.ts";
import { CREDENTIALS, TRANSPORT_SECURITY } from "./security.ts";
import { ERROR_FORMS } from "./errors.ts";
import { FINALITY, STREAMS } from "./streams.ts";
import { GRPC } from "./grpc.ts";
import { JSONRPC } from "./jsonrpc.ts";
import { LISTS } from "./lists.ts";
import { MEDIA, VALIDATION } from "./validation.ts";
import { PUSH_CONFIGS, WEBHOOKS } from "./push.ts";
import { REST } from "./rest.ts";
import { SHAPES, WORDS } from "./format.ts";
import { SUBSCRIPTIONS } from "./subscriptions.ts";

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
