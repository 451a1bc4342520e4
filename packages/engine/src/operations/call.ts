import type { AgentCardFacts, Caller, ProtocolVersion, TraceContext } from "@convoke/protocol";
import type { Engine } from "../run/engine.ts";

/** What an operation knows besides its request. */
export interface Call {
  readonly engine: Engine;
  readonly caller: Caller;
  readonly version: ProtocolVersion;
  readonly trace: TraceContext | undefined;
  /** What the agent tells callers whom it knows; absent where it tells no more than its card. */
  readonly extendedCard?: ((caller: Caller) => Promise<AgentCardFacts | undefined>) | undefined;
  /** The extensions that are active for this request; by default none. */
  readonly extensions?: ReadonlySet<string> | undefined;
  /** Where a reader wants to go on, as it was sent. */
  readonly lastEventId: string | undefined;
}
