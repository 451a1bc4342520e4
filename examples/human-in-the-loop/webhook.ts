import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** An older request may be a recording that somebody sends again. */
const TOLERANCE_SECONDS = 5 * 60;

/** The headers with which a chat service signs a webhook, as Slack and others do. */
export function signedHeaders(secret: string, body: string, now = Date.now()) {
  const timestamp = String(Math.floor(now / 1000));
  return { "x-chat-timestamp": timestamp, "x-chat-signature": sign(secret, timestamp, body) };
}

/** Whether the chat service has signed this body, a short time ago. */
export function isGenuine(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const timestamp = String(headers["x-chat-timestamp"]);
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  const given = Buffer.from(String(headers["x-chat-signature"]));
  const expected = Buffer.from(sign(secret, timestamp, body));
  // `!(… <= …)` also rejects a timestamp that is no number.
  if (!(age <= TOLERANCE_SECONDS) || given.length !== expected.length) return false;
  return timingSafeEqual(given, expected);
}

function sign(secret: string, timestamp: string, body: string): string {
  return `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex")}`;
}
