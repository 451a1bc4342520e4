import { randomBytes } from "node:crypto";
import type { TraceContext } from "@convoke/protocol";

/** W3C Trace Context level 2: version 00, and what later versions keep of it; only they may go on. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The caller's trace with a span of our own in it; a malformed header starts none, as the standard says. */
export function traceOf(traceparent: string | undefined): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const traceId = TRACEPARENT.exec(traceparent.trim())?.[1];
  return traceId === undefined ? undefined : { traceId, spanId: randomBytes(8).toString("hex") };
}
