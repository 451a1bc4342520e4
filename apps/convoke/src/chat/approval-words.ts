import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalOption,
  type DataPart,
  EXTENSIONS,
} from "@convoke/protocol";
import { UsageError } from "../terminal/command.ts";

const WORD = /^(approve|yes|reject|no)\b[\s:,.]*([^]*)$/i;

/**
 * Parses a line as decisions on open approvals: "approve", "reject: why", or, if there are several,
 * "approve 1" or "reject all". Returns `undefined` if the line is an ordinary message.
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
    // "yes, but …" is an ordinary message, unless it names an approval.
    if (open.length === 1) return undefined;
    throw new UsageError(advice(open));
  }
  return chosen.map((approval) => {
    if (!approval.options.includes(option)) {
      throw new UsageError(`The only options are ${approval.options.join(", ")}.`);
    }
    return answerPart(
      approval,
      option,
      option === "reject" && rest !== "" ? { feedback: rest } : {},
    );
  });
}

/** How to answer open approvals. */
export function advice(open: readonly Approval[]): string {
  if (open.length === 1)
    return 'Type "approve", or "reject" and why. Any other message withdraws the call.';
  const some = `${open.length} approvals are open`;
  return `${some}: type "approve 1", "approve all", or "reject 2" and why. Any other message withdraws them.`;
}

const WHICH = /^(all\b|\d+\b)[\s:,.]*([^]*)$/i;

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

/** How long an approval can last, other than once. */
const LASTING: ReadonlySet<string> = new Set(["conversation", "always"] satisfies ApprovalOption[]);

function optionOf(word: string, rest: string): ApprovalOption | undefined {
  if (word === "reject") return "reject";
  if (word === "no") return rest === "" ? "reject" : undefined;
  if (rest === "") return "once";
  const lasting = rest.trim().toLowerCase();
  return word === "approve" && LASTING.has(lasting) ? (lasting as ApprovalOption) : undefined;
}

const { uri: APPROVALS } = EXTENSIONS.approvals;

/** The answer to an approval, for its message: with feedback to reject it, or with edited arguments. */
export function answerPart(
  { id: approvalId, digest }: Approval,
  option: ApprovalOption,
  more: Pick<ApprovalAnswer, "feedback" | "arguments"> = {},
): DataPart {
  return {
    kind: "data",
    data: { approvalId, digest, option, ...more } satisfies ApprovalAnswer,
    metadata: { [APPROVALS]: { type: "approval-answer" } },
  };
}
