import type { OnAgentNotice } from "./agent-notice.ts";
import type { BindingName } from "./choose-interface.ts";
import type { RetryOptions } from "./connection/retry-options.ts";
import type { DiscoverOptions } from "./discover.ts";

/** `signal` ends the connecting; each call takes one of its own. */
export interface ConnectOptions extends DiscoverOptions {
  /** Speak only these, the favourite first; by default what the card prefers. */
  readonly bindings?: readonly BindingName[] | undefined;
  /** Speak for this tenant, which the card must name; by default for whichever its best interface has. */
  readonly tenant?: string | undefined;
  /** Extensions of A2A that requests ask for, by their URIs. */
  readonly extensions?: readonly string[] | undefined;
  /**
   * Whether an address of 1.0 may be tried with 0.3 although the card does not
   * say so, after it refused 1.0. By default not (1.0 §3.6.3). What the card
   * offers in 0.3 may be used anyway, after 1.0, unless `version` demands one.
   */
  readonly allowDowngrade?: boolean | undefined;
  /** How calls are tried again; `false` makes each once. */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * How long one try of a call may take, by default 60 seconds, and getting the
   * card, by default 30. A message may take as long as the agent works, so it
   * has no limit but your signal.
   */
  readonly timeoutMs?: number | undefined;
  /** Is told what is odd about the agent although it works, such as old forms of A2A; each once. */
  readonly onNotice?: OnAgentNotice | undefined;
  /** Gets the card for callers whom the agent knows, and uses it for this session. */
  readonly extended?: boolean | undefined;
  /** Where a card that is given as an object came from: what it says is relative to there. */
  readonly cardUrl?: string | undefined;
}
