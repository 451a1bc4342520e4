import { BINDINGS } from "@convoke/check/wire";
import type { ProtocolVersion } from "@convoke/protocol";
import { type Peer, Speaker } from "./speaker.ts";

const VERSIONS = ["0.3", "1.0"] as const satisfies readonly ProtocolVersion[];

/** A speaker for each binding in each version. */
export function speakersTo(server: Peer): readonly Speaker[] {
  return VERSIONS.flatMap((version) => speakersOf(server, version));
}

/** A speaker for each binding in one version. */
export function speakersOf(server: Peer, version: ProtocolVersion): readonly Speaker[] {
  return BINDINGS.map((binding) => new Speaker({ peer: server, binding, version }));
}

export function jsonRpcSpeaker(server: Peer, version: ProtocolVersion): Speaker {
  return new Speaker({ peer: server, binding: "jsonrpc", version });
}

export function restSpeaker(server: Peer, version: ProtocolVersion): Speaker {
  return new Speaker({ peer: server, binding: "rest", version });
}

export function grpcSpeaker(server: Peer, version: ProtocolVersion): Speaker {
  return new Speaker({ peer: server, binding: "grpc", version });
}
