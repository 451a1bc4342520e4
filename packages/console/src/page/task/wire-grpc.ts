import { PROTO_CODECS, type ProtocolVersion, type PublicEvent } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { frameGrpcMessage } from "@convoke/protocol/internal";
import type { WireText } from "./wire.ts";

/** gRPC has no event ids, so servers put the position into the metadata of each event. */
const CURSOR = "last-event-id";

/** An event as a message of a gRPC stream, with its length in front. */
export function grpcMessage(seq: number, event: PublicEvent, version: ProtocolVersion): WireText {
  const text = PROTO_CODECS[version].eventText(event, JSON.stringify(event));
  const response = JSON.parse(text) as Record<string, { metadata?: Record<string, unknown> }>;
  for (const one of Object.values(response)) {
    one.metadata = { ...one.metadata, [CURSOR]: String(seq) };
  }
  const method = GRPC_SERVICES[version].methods.find(
    ({ operation }) => operation === "sendStreamingMessage",
  )!;
  return {
    json: JSON.stringify(response),
    sent: frameGrpcMessage(method.encodeResponse(response)),
  };
}
