import type { SubAgentAtUrl } from "@convoke/runtime";
import { calls } from "../loop/scripts.ts";
import { Hop, type HopOptions, callsOnce } from "../sub-agents/a-hop.ts";

export interface BossOptions extends HopOptions {
  /** The message to the other agent. */
  readonly message?: string;
  /** How the other agent is called. */
  readonly rules?: Partial<SubAgentAtUrl>;
}

/** An agent that calls the one at the URL once, and then repeats its result. */
export function aBossOf(url: string, options: BossOptions = {}): Promise<Hop> {
  const { message = "go", rules = {}, ...more } = options;
  const define = () => ({
    model: callsOnce(calls("other", { message })),
    subAgents: { other: { url, ...rules } },
  });
  return Hop.started("boss", define, more);
}
