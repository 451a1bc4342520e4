import { EXTENSIONS, type Metadata, resumptionCursor } from "@convoke/protocol";
import type { Call } from "@convoke/engine";

/**
 * The call of a reader who says in the metadata of its request where it wants to go on. The header
 * counts before it: a client that reconnects by itself changes that, and sends the same body.
 */
export function withCursor(params: unknown, call: Call): Call {
  if (call.extensions?.has(EXTENSIONS.resumption.uri) !== true) return call;
  const cursor = resumptionCursor(metadataOf(params));
  return cursor === undefined || call.lastEventId !== undefined
    ? call
    : { ...call, lastEventId: cursor };
}

/** Where `metadata` are no object, the codec says so. */
function metadataOf(params: unknown): Metadata | undefined {
  const metadata = (params as { readonly metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Metadata) : undefined;
}
