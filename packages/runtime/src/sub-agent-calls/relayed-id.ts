import { createHash } from "node:crypto";

/** What makes a request of a sub-agent the one it is. */
export interface RelayedFacts {
  readonly toolCallId: string;
  readonly childTaskId: string;
  /** Which question of the call it belongs to: what is asked again is another request. */
  readonly question: number;
  /** The sub-agent's own name for it. */
  readonly childId: string;
}

const MAX_CALL = 64;

/**
 * The id under which a request of a sub-agent is asked here: other than those of all other calls,
 * sub-agents and questions, the same in every attempt, and not longer at any depth.
 */
export function relayedId(facts: RelayedFacts): string {
  const { toolCallId, childTaskId, question, childId } = facts;
  const name = JSON.stringify([toolCallId, childTaskId, question, childId]);
  const digest = createHash("sha256").update(name).digest("base64url").slice(0, 22);
  return `${toolCallId.slice(0, MAX_CALL)}-${digest}`;
}
