// Every name exported here is a public promise; keep the list short.

// Node's types are referenced here and not in tsconfig.json: `http/` runs in browsers.
/// <reference types="node" />
export { type EgressOptions, createEgress } from "./create-egress.ts";
export { createEgressFetch, watchRefusals } from "./create-egress.ts";
export type { EgressCertificate } from "./connections/tls-choice.ts";
export type { Egress, EgressRequest, EgressResponse } from "./create-egress.ts";
export { EgressError, type EgressReason } from "./policy/egress-error.ts";
