import {
  CODECS,
  LEGACY_CODECS,
  PROTO_CODECS,
  type PublicEvent,
  isPublic,
  resultPrefix,
  sseFrame,
} from "@convoke/protocol";
import type { LoggedEvent } from "../server/event-log.ts";

export const WIRE_FORMS = [
  { id: "0.3-jsonrpc", name: "0.3 JSON-RPC" },
  { id: "0.3-rest", name: "0.3 REST" },
  { id: "0.3-grpc", name: "0.3 gRPC" },
  { id: "1.0-jsonrpc", name: "1.0 JSON-RPC" },
  { id: "1.0-rest", name: "1.0 REST" },
  { id: "1.0-grpc", name: "1.0 gRPC" },
] as const;

export type WireForm = (typeof WIRE_FORMS)[number]["id"];

/** An event as a client received it. */
export interface WireText {
  /** The event as JSON, with its envelope. */
  readonly json: string;
  /** What was sent: a frame of server-sent events as text, or a gRPC message as bytes. */
  readonly sent: string | Uint8Array;
}

/** The id of the request, which is the client's choice. */
const REQUEST_ID = 1;

/**
 * What a client received for an event, made by the codecs that the server uses. `undefined` for
 * notes, which are never sent. The codecs of gRPC are large and loaded when they are needed.
 */
export async function wireText(
  { seq, event }: LoggedEvent,
  form: WireForm,
): Promise<WireText | undefined> {
  if (!isPublic(event)) return undefined;
  switch (form) {
    case "0.3-jsonrpc":
      return framed(seq, event, { codec: LEGACY_CODECS["0.3"], isRpc: true });
    case "1.0-jsonrpc":
      return framed(seq, event, { codec: CODECS["1.0"], isRpc: true });
    case "0.3-rest":
      return framed(seq, event, { codec: PROTO_CODECS["0.3"], isRpc: false });
    case "1.0-rest":
      return framed(seq, event, { codec: PROTO_CODECS["1.0"], isRpc: false });
    case "0.3-grpc":
    case "1.0-grpc": {
      const { grpcMessage } = await import("./wire-grpc.ts");
      return grpcMessage(seq, event, form === "0.3-grpc" ? "0.3" : "1.0");
    }
    default:
      return form satisfies never;
  }
}

interface Framing {
  readonly codec: (typeof CODECS)["0.3"];
  /** Whether events are results of JSON-RPC. */
  readonly isRpc: boolean;
}

function framed(seq: number, event: PublicEvent, { codec, isRpc }: Framing): WireText {
  const text = codec.eventText(event, JSON.stringify(event));
  const [prefix, suffix] = isRpc ? [resultPrefix(REQUEST_ID), "}"] : ["", ""];
  return { json: prefix + text + suffix, sent: sseFrame(seq, prefix, text, suffix) };
}
