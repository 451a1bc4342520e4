import { type ApprovalAnswer, EXTENSIONS, type Message, approvalsIn } from "@convoke/protocol";
import { markedData } from "./open-request.ts";

/** Stores which tools are always approved. */
export interface GrantStore {
  isGranted(grant: Grant): boolean | Promise<boolean>;
  add(grant: Grant): void | Promise<void>;
}

export interface Grant {
  readonly agent: string;
  readonly owner: string;
  readonly toolName: string;
}

/** Grants in memory: they last as long as the process. */
export function memoryGrants(): GrantStore {
  const granted = new Set<string>();
  const keyOf = ({ agent, owner, toolName }: Grant): string =>
    JSON.stringify([agent, owner, toolName]);
  return {
    isGranted: (grant) => granted.has(keyOf(grant)),
    add: (grant) => void granted.add(keyOf(grant)),
  };
}

/** How the loop names the messages in which it notes that a tool may run from now on. */
export const GRANT_ID = /-grant-\d+$/;

/**
 * Which tools may run for the rest of a conversation: those for which the
 * caller answered so, and the loop took the answer. Either alone is not enough,
 * for what an agent says may come from elsewhere, and what a caller says may
 * have come too late.
 */
export function grantedIn(conversation: readonly Message[]): ReadonlySet<string> {
  const answered = new Map<string, string>();
  const granted = new Set<string>();
  const { uri } = EXTENSIONS.approvals;
  for (const message of conversation) {
    if (message.role === "user") {
      for (const part of message.parts) {
        const answer = markedData(part, uri, "approval-answer") as ApprovalAnswer | null;
        if (answer?.option === "conversation" || answer?.option === "always") {
          answered.set(answer.approvalId, answer.digest);
        }
      }
    } else if (GRANT_ID.test(message.messageId)) {
      const { inParts, inMetadata } = approvalsIn(message);
      for (const { id, digest, decision, tool } of [...inParts, ...inMetadata]) {
        const isTaken = decision?.outcome === "approved";
        if (isTaken && answered.get(id) === digest) granted.add(tool.name);
      }
    }
  }
  return granted;
}
