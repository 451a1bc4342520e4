import { type A2APart, type Approval, type ApprovalAnswer, textOfParts } from "@convoke/protocol";

const APPROVING: ReadonlySet<string> = new Set(["approve", "yes"]);
const REJECTING: ReadonlySet<string> = new Set(["reject", "no"]);
const REJECTING_WITH_WHY = /^reject[\s:,.]+(\S[^]*)$/i;

/**
 * The decision of a message that has nothing but words, if it is exactly the word for one: "yes,
 * but" is another message. Where plain words do not count, a bare refusal still refuses, because
 * the call does not run either way.
 */
export function plainDecision(
  { id: approvalId, digest, options }: Approval,
  parts: readonly A2APart[],
  plainWords: boolean,
): ApprovalAnswer | undefined {
  if (parts.some(({ kind }) => kind !== "text")) return undefined;
  const text = textOfParts(parts).trim();
  const word = text.toLowerCase();
  if (REJECTING.has(word)) return { approvalId, digest, option: "reject" };
  if (!plainWords) return undefined;
  const feedback = REJECTING_WITH_WHY.exec(text)?.[1];
  if (feedback !== undefined) return { approvalId, digest, option: "reject", feedback };
  const isApproved = APPROVING.has(word) && options.includes("once");
  return isApproved ? { approvalId, digest, option: "once" } : undefined;
}
