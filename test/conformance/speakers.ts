import type { ProtocolVersion } from "@convoke/protocol";
import { grpcSpeaker } from "./grpc-speaker.ts";
import { jsonRpcSpeaker } from "./jsonrpc-speaker.ts";
import { restSpeaker } from "./rest-speaker.ts";
import type { Speaker } from "./speaker.ts";
import type { Peer } from "./transport.ts";

const VERSIONS = ["0.3", "1.0"] as const satisfies readonly ProtocolVersion[];

/** Everyone who can speak to a server: each binding in each version. */
export function speakersTo(server: Peer): readonly Speaker[] {
  return VERSIONS.flatMap((version) => speakersOf(server, version));
}

/** Those who speak one version. */
export function speakersOf(server: Peer, version: ProtocolVersion): readonly Speaker[] {
  return [
    jsonRpcSpeaker(server, version),
    restSpeaker(server, version),
    grpcSpeaker(server, version),
  ];
}
