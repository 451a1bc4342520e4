import type { SubAgentAtUrl } from "@convoke/runtime";
import { calls } from "../loop/scripts.ts";
import { Hop, type HopOptions, callsOnce } from "../sub-agents/a-hop.ts";

export interface BossOptions extends HopOptions {
  /** What it tells the other agent. */
  readonly message?: string;
  /** How the other agent is called. */
  readonly rules?: Partial<SubAgentAtUrl>;
}

/** An agent that calls the one at the address once, and then says what it was told. */
export function aBossOf(url: string, options: BossOptions = {}): Promise<Hop> {
  const { message = "go", rules = {}, ...more } = options;
  const define = () => ({
    model: callsOnce(calls("other", { message })),
    subAgents: { other: { url, ...rules } },
  });
  return Hop.started("boss", define, more);
}
