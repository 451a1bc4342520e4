import type { ProtocolVersion, PushTarget } from "@convoke/protocol";

/** What a push config is stored as: the caller's words, and the wire version in which notifications are written. */
export interface StoredTarget extends PushTarget {
  readonly id: string;
  readonly version: ProtocolVersion;
}

export function readTarget(config: string): StoredTarget {
  return JSON.parse(config) as StoredTarget;
}
