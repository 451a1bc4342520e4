import { randomBytes } from "node:crypto";
import { type ProtocolVersion, type TraceContext, parseVersion } from "@convoke/protocol";
import { type HttpRequest, header } from "./exchange.ts";

/** W3C Trace Context level 2: version 00, or a later version, which may have additional fields. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** One member of `tracestate`: a key, optionally with a tenant, and a value. */
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;
/** The limits up to which the standard requires propagation. */
const MAX_STATE = 512;
const MAX_MEMBERS = 32;

/** The trace of a request. */
export function requestTrace(request: HttpRequest): TraceContext | undefined {
  return parseTrace(header(request, "traceparent"), header(request, "tracestate"));
}

/** The trace of the client with a new span. `undefined` for a malformed header, as the standard says. */
export function parseTrace(
  traceparent: string | undefined,
  tracestate?: string,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const traceId = TRACEPARENT.exec(traceparent.trim())?.[1];
  if (traceId === undefined) return undefined;
  const state = parseState(tracestate);
  const spanId = randomBytes(8).toString("hex");
  return { traceId, spanId, ...(state !== undefined && { state }) };
}

/** A malformed state is dropped, and the trace continues without it. */
function parseState(tracestate = ""): string | undefined {
  const members = tracestate
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > MAX_MEMBERS) return undefined;
  const state = members.join(",");
  return state.length <= MAX_STATE && members.every((one) => MEMBER.test(one)) ? state : undefined;
}

/** The version in the header or the query of a request (1.0 §3.6.1). */
export function requestedVersion(request: HttpRequest): ProtocolVersion | undefined {
  return parseVersion(header(request, "a2a-version") ?? request.query.get("A2A-Version"));
}
