// Signatures of push notifications (Standard Webhooks): the engine signs, receivers verify.

// Node's types are referenced here and not in tsconfig.json: `http/` runs in browsers.
/// <reference types="node" />
export { secretKey } from "./sign-delivery.ts";
export { type Delivery, signDelivery, signWith } from "./sign-delivery.ts";
