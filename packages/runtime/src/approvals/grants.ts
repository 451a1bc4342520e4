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

/** Keeps grants in memory, for as long as the process runs. */
export function memoryGrants(): GrantStore {
  const granted = new Set<string>();
  const keyOf = ({ agent, owner, toolName }: Grant): string =>
    JSON.stringify([agent, owner, toolName]);
  return {
    isGranted: (grant) => granted.has(keyOf(grant)),
    add: (grant) => void granted.add(keyOf(grant)),
  };
}

/**
 * Matches the ids of the messages in which the loop records that a tool is approved from now on.
 */
export const GRANT_ID = /-grant-\d+$/;

/**
 * The tools that are approved for the rest of a conversation. This takes both the caller's answer
 * and the loop's record that it was accepted: an agent message alone may come from elsewhere, and a
 * caller's answer alone may have come too late.
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
