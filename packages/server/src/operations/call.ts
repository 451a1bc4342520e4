import type { Caller, ProtocolVersion, TraceContext } from "@convoke/protocol";
import type { Engine } from "../tasks/engine.ts";

/** What an operation knows besides its request. */
export interface Call {
  readonly engine: Engine;
  readonly caller: Caller;
  readonly version: ProtocolVersion;
  readonly trace: TraceContext | undefined;
  /** Where a reader wants to go on, as it was sent. */
  readonly lastEventId: string | undefined;
}
