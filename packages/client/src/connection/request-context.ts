import type { RequestContext } from "@convoke/protocol";

/** W3C Trace Context, version 00. Whoever traces wants to see it, so it counts as sampled. */
export function traceHeaders({ trace }: RequestContext = {}): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { traceId, spanId, state } = trace;
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    ...(state !== undefined && { tracestate: state }),
  };
}

/** The extensions of the connection and of the request, each once. */
export function askedExtensions(
  ofConnection: readonly string[] = [],
  { extensions = [] }: RequestContext = {},
): readonly string[] {
  return extensions.length === 0 ? ofConnection : [...new Set([...ofConnection, ...extensions])];
}
