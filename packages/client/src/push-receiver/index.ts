// Every name exported here is a public promise; keep the list short.

// Node's types are referenced here and not in tsconfig.json: the rest of this package runs in browsers.
/// <reference types="node" />
export {
  type PushReceiver,
  type PushReceiverOptions,
  type PushRequest,
  createPushReceiver,
} from "./create-push-receiver.ts";
export type { Received } from "./create-push-receiver.ts";
export { type Delivery, signDelivery } from "@convoke/egress/webhooks";
