import type { ProtocolVersion } from "@convoke/protocol";
import type { Binding, WireHeaders } from "../wire/client.ts";

/** What to check, and how. */
export interface CheckSettings {
  /** The address of the agent or of its card. */
  readonly url: string;
  /** An ordinary message. */
  readonly message: string;
  /**
   * A message that keeps the agent busy for a few seconds. Default: the first example on the card that
   * does; if there is none, probes that need one are skipped.
   */
  readonly slow?: string | undefined;
  /** A message that makes the agent ask a question. Default: the first example on the card that does. */
  readonly ask?: string | undefined;
  /** Time limit of each probe. */
  readonly timeoutMs: number;
  /** Headers that authenticate the caller. They are sent to the origin of `url` and to `allowOrigins`. */
  readonly credentials: WireHeaders;
  /** Other origins that may be called. Interfaces elsewhere are skipped. */
  readonly allowOrigins: readonly string[];
  /** Check only these versions; empty means all. */
  readonly versions: readonly ProtocolVersion[];
  /** Check only these bindings; empty means all. */
  readonly bindings: readonly Binding[];
  /** Run only these requirement or probe ids; empty means all. */
  readonly only: readonly string[];
  /** Stops the check; the promise then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called before each probe. */
  readonly onProbe?: (progress: CheckProgress) => void;
}

export interface CheckProgress {
  /** How many probes have run. */
  readonly done: number;
  readonly total: number;
  /** The card, or the name of the interface. */
  readonly place: string;
  readonly id: string;
}
