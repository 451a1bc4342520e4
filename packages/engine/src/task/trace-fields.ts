import type { Metadata, TraceContext } from "@convoke/protocol";

/** What events carry of a trace; what its systems add is for those who are called, not for those who read. */
export function traceFields(trace: TraceContext | undefined): Metadata {
  return trace === undefined ? {} : { traceId: trace.traceId, spanId: trace.spanId };
}
