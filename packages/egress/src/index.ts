// Everything below is a promise to the other packages and to users; keep it short.

// The types of Node are asked for here and not in tsconfig.json: the rest of this package runs in browsers.
/// <reference types="node" />
export { type EgressOptions, createEgress } from "./create-egress.ts";
export { createEgressFetch } from "./egress-fetch.ts";
export type { Egress, EgressRequest, EgressResponse } from "./egress.ts";
export { EgressError, type EgressReason } from "./egress-error.ts";
