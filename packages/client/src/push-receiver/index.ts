// Everything below is a promise to users and to the server, which signs what is verified here; keep it short.

// The types of Node are asked for here and not in tsconfig.json: the rest of this package runs in browsers.
/// <reference types="node" />
export {
  type PushReceiver,
  type PushReceiverOptions,
  type PushRequest,
  createPushReceiver,
} from "./create-push-receiver.ts";
export type { Received } from "./create-push-receiver.ts";
export { type Delivery, signDelivery } from "@convoke/egress/webhooks";
