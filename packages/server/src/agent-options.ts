import type { AgentInfo, Caller, SpecPatch } from "@convoke/protocol";
import type { CardOptions } from "./cards/card-binding.ts";
import type { CorsOptions } from "./http/cors.ts";
import type { Limits, Logger, PushOptions, RetentionOptions } from "@convoke/engine";

/** What can be said about an agent wherever it runs: on a port of its own, or inside an app. */
export interface AgentOptions {
  readonly logger: Logger;
  /** Callers must send it as a bearer token. */
  readonly token?: string;
  /** Names besides the local ones under which the agent is reached. */
  readonly allowedHosts?: readonly string[];
  /** The whole address that the card names, when callers reach the agent by another one. */
  readonly publicUrl?: string;
  /** Web pages of other origins that may call; by default none, and the card is open to all. */
  readonly cors?: CorsOptions;
  /** What one caller or one agent may use at most. */
  readonly limits?: Partial<Limits>;
  /** Whether answers are streamed, by default they are. Without it callers wait for the answer, or poll. */
  readonly streaming?: boolean;
  /** How notifications are pushed; `false` when none are. */
  readonly push?: PushOptions | false;
  /** How long ended tasks are kept. */
  readonly retention?: Partial<RetentionOptions>;
  /** Parts of the server that are apart from each other: tasks of one are not seen from another. */
  readonly tenants?: readonly string[];
  /** Takes only official forms, in the version that the caller names: for conformance tests. */
  readonly strict?: boolean;
  /** Which edition of 1.0 the statuses of errors are taken from. */
  readonly specPatch?: SpecPatch;
  /** Which form of the card is shown, and what signs it. */
  readonly card?: CardOptions;
  /** What the card of a caller whom the server knows says besides, or instead; nothing for whom it says no more. */
  readonly extendedCard?: (
    caller: Caller,
  ) => Partial<AgentInfo> | undefined | Promise<Partial<AgentInfo> | undefined>;
  /** Believes `Forwarded` and `X-Forwarded-*`: there is a proxy in front that sets them. */
  readonly trustProxy?: boolean;
  /** The longest silence of a stream; by default 15 s. 0 sends no keep-alive at all. */
  readonly keepAliveMs?: number;
}

export interface CloseOptions {
  /**
   * How long what is under way may take, in milliseconds; meanwhile new work is
   * refused with 503. By default nothing is waited for: every task is kept anyway.
   */
  readonly drainMs?: number;
}
