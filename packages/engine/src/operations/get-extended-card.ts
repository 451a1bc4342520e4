import { A2AError, type AgentCardFacts } from "@convoke/protocol";
import type { Call } from "./call.ts";

/** Returns the extended card for this caller. */
export async function getExtendedCard(_request: undefined, call: Call): Promise<AgentCardFacts> {
  const { extendedCard, caller, version } = call;
  if (extendedCard === undefined) {
    // 1.0 §3.3.4 has one code for every missing capability; 0.3 §7.10 has its own for this one.
    const reason = version === "1.0" ? "UnsupportedOperation" : "ExtendedAgentCardNotConfigured";
    throw new A2AError(reason, "this agent has no extended card");
  }
  const facts = await extendedCard(caller);
  if (facts !== undefined) return facts;
  const problem = "this agent has no extended card for this caller";
  throw new A2AError("ExtendedAgentCardNotConfigured", problem);
}
