import type { ProtocolVersion } from "@convoke/protocol";
import type { Binding } from "./wire/binding.ts";
import type { WireHeaders } from "./wire/call.ts";

/** What is checked, and how. */
export interface CheckSettings {
  /** The address of the agent, or of its card. */
  readonly url: string;
  /** An ordinary message. */
  readonly message: string;
  /** A message that keeps the agent busy for a few seconds. */
  readonly slow?: string | undefined;
  /** A message that makes the agent ask back. */
  readonly ask?: string | undefined;
  /** How long one probe may take. */
  readonly timeoutMs: number;
  /** Headers that say who asks; they go to the origin of the address and to those allowed. */
  readonly credentials: WireHeaders;
  readonly allowOrigins: readonly string[];
  /** Only these, where any are named. */
  readonly versions: readonly ProtocolVersion[];
  readonly bindings: readonly Binding[];
  /** Ids of requirements or of probes. */
  readonly only: readonly string[];
  readonly signal: AbortSignal;
  /** Told before each probe. */
  readonly onProbe?: (progress: CheckProgress) => void;
}

export interface CheckProgress {
  readonly done: number;
  readonly total: number;
  /** Where it is tried, and its id. */
  readonly place: string;
  readonly id: string;
}
