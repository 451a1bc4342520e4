import { randomBytes } from "node:crypto";
import type { TraceContext } from "@convoke/protocol";
import { type HttpRequest, header } from "./exchange.ts";

/** W3C Trace Context level 2: version 00, and what later versions keep of it; only they may go on. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** One member of `tracestate`: a key, perhaps with its tenant, and what it says. */
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;
/** As much of it as everybody must hand on. */
const MAX_STATE = 512;
const MAX_MEMBERS = 32;

/** The trace of a request. */
export function requestTrace(request: HttpRequest): TraceContext | undefined {
  return traceOf(header(request, "traceparent"), header(request, "tracestate"));
}

/** The caller's trace with a span of our own in it; a malformed header starts none, as the standard says. */
export function traceOf(
  traceparent: string | undefined,
  tracestate?: string,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const traceId = TRACEPARENT.exec(traceparent.trim())?.[1];
  if (traceId === undefined) return undefined;
  const state = stateOf(tracestate);
  const spanId = randomBytes(8).toString("hex");
  return { traceId, spanId, ...(state !== undefined && { state }) };
}

/** What is not well formed is dropped, and the trace goes on without it. */
function stateOf(tracestate = ""): string | undefined {
  const members = tracestate
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > MAX_MEMBERS) return undefined;
  const state = members.join(",");
  return state.length <= MAX_STATE && members.every((one) => MEMBER.test(one)) ? state : undefined;
}
