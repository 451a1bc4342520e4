// Signatures of push notifications (Standard Webhooks): the engine signs with them, receivers verify with them.

// The types of Node are asked for here and not in tsconfig.json: the rest of this package runs in browsers.
/// <reference types="node" />
export { secretKey } from "./secret-key.ts";
export { type Delivery, signDelivery, signWith } from "./sign-delivery.ts";
