import { isHeaderValue } from "../auth/header-text.ts";
import { readBaseUrl } from "./base-url.ts";
import { ValidationError } from "./errors.ts";
import { MAX_DEPTH } from "./invocation-guard.ts";
import type { Order } from "./invocation.ts";
import type { InvokeOptions } from "./invoke-options.ts";
import { refuseUnboundCredentials } from "./peer.ts";
import { readMs } from "./read-ms.ts";

const TIMEOUT_MS = 5 * 60_000;

/** The call as it was asked for, or an error that names what is wrong with it. */
export function readOrder(baseUrl: string, message: string, options: InvokeOptions): Order {
  const { depth = 1, maxDepth = MAX_DEPTH, timeoutMs = TIMEOUT_MS, limits = {} } = options;
  const { protocol = "auto", sourceAgent = "" } = options;
  const base = readBaseUrl(baseUrl);
  if (typeof message !== "string" || message.trim() === "")
    throw wrong("message", "must not be blank");
  readMs("timeoutMs", timeoutMs);
  for (const [name, ms] of Object.entries(limits)) readMs(`limits.${name}`, ms);
  refuseUnlessDepth("depth", depth);
  refuseUnlessDepth("maxDepth", maxDepth);
  if (!["auto", "a2a", "legacy"].includes(protocol)) {
    throw wrong("protocol", `must be "auto", "a2a" or "legacy", not "${protocol}"`);
  }
  if (!isHeaderValue(sourceAgent)) {
    throw wrong("sourceAgent", "holds characters that no header can have; use plain ASCII");
  }
  refuseUnboundCredentials(options);
  return { base, message, depth, timeoutMs, options };
}

function refuseUnlessDepth(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw wrong(field, `must be a whole number of at least 1, not ${value}`);
}

function wrong(field: string, problem: string): ValidationError {
  return new ValidationError(`${field} ${problem}`, { field });
}
