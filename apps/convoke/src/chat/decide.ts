import { type Approval, type ApprovalOption, type DataPart, EXTENSIONS } from "@convoke/protocol";
import { UsageError } from "../terminal/command.ts";

const { uri: APPROVALS } = EXTENSIONS.approvals;

const WORD = /^(approve|yes|reject|no)\b[\s:,.]*([^]*)$/i;
const WHICH = /^(all\b|\d+\b)[\s:,.]*([^]*)$/i;
/** For how long an approval may hold, beside this once. */
const LASTING: ReadonlySet<string> = new Set(["conversation", "always"] satisfies ApprovalOption[]);

/**
 * The decisions that a line is, for an agent that waits for some: "approve", "reject: why", and with
 * several open "approve 1" or "reject all". Nothing for a line that is a message.
 */
export function decisionsIn(
  typed: string,
  open: readonly Approval[],
): readonly DataPart[] | undefined {
  const [, word = "", after = ""] = WORD.exec(typed.trim()) ?? [];
  if (word === "" || open.length === 0) return undefined;
  const { chosen, rest } = targets(open, after);
  const option = optionOf(word.toLowerCase(), rest);
  if (option === undefined) {
    // "yes, but" is another message, unless it says what it is about.
    if (open.length === 1) return undefined;
    throw new UsageError(advice(open));
  }
  return chosen.map((approval) => {
    if (!approval.options.includes(option)) {
      throw new UsageError(`It can be decided by ${approval.options.join(", ")} only.`);
    }
    return answerPart(approval, option, option === "reject" ? rest : "");
  });
}

/** How to decide, for whoever is asked. */
export function advice(open: readonly Approval[]): string {
  if (open.length === 1) return 'Type "approve", or "reject" and why. Anything else gives it up.';
  const some = `${open.length} approvals are open`;
  return `${some}: type "approve 1", "approve all", or "reject 2" and why. Anything else gives them up.`;
}

function targets(
  open: readonly Approval[],
  after: string,
): { readonly chosen: readonly Approval[]; readonly rest: string } {
  if (open.length === 1) return { chosen: open, rest: after };
  const [, which = "", rest = ""] = WHICH.exec(after) ?? [];
  if (which.toLowerCase() === "all") return { chosen: open, rest };
  const approval = open[Number(which) - 1];
  if (which === "" || approval === undefined) throw new UsageError(advice(open));
  return { chosen: [approval], rest };
}

function optionOf(word: string, rest: string): ApprovalOption | undefined {
  if (word === "reject") return "reject";
  if (word === "no") return rest === "" ? "reject" : undefined;
  if (rest === "") return "once";
  const lasting = rest.trim().toLowerCase();
  return word === "approve" && LASTING.has(lasting) ? (lasting as ApprovalOption) : undefined;
}

function answerPart(
  { id: approvalId, digest }: Approval,
  option: ApprovalOption,
  feedback: string,
): DataPart {
  return {
    kind: "data",
    data: { approvalId, digest, option, ...(feedback !== "" && { feedback }) },
    metadata: { [APPROVALS]: { type: "approval-answer" } },
  };
}
