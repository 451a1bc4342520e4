import { A2AError, type Codec } from "@convoke/protocol";
import type { Call } from "./call.ts";

/** What the agent tells callers whom it knows, in the words of their version. */
export async function getExtendedCard(codec: Codec, call: Call): Promise<object> {
  const { extendedCard, caller } = call;
  if (extendedCard === undefined) throw noExtendedCard(codec);
  const facts = await extendedCard(caller);
  if (facts !== undefined) return codec.encodeCard(facts);
  const problem = "this agent has no extended card for this caller";
  throw new A2AError("ExtendedAgentCardNotConfigured", problem);
}

/** 1.0 §3.3.4 has one code for an absent capability; 0.3 §7.10 has its own. */
function noExtendedCard({ version }: Codec): A2AError {
  const reason = version === "1.0" ? "UnsupportedOperation" : "ExtendedAgentCardNotConfigured";
  return new A2AError(reason, "this agent has no extended card");
}
