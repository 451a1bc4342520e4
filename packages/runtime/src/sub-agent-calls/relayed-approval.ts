import { type Approval, type ApprovalOrigin, checkApproval } from "@convoke/protocol";
import { digestArguments } from "../approvals/digest-arguments.ts";

const MAX_ORIGINS = 64;

/** A sub-agent asks for something that nobody may be shown. */
export class UnfitQuestion extends Error {
  override readonly name = "UnfitQuestion";
}

/**
 * An approval of a sub-agent as it is asked for here. Whoever decides sees who wants it, and
 * decides on the arguments that are shown: an approval whose digest is of others is refused.
 */
export function relayedApproval(
  given: Approval,
  facts: { readonly id: string; readonly origin: ApprovalOrigin; readonly now: Date },
): Approval {
  const approval = checked(given);
  if (digestArguments(approval.tool.arguments) !== approval.digest) {
    throw new UnfitQuestion("it asked for an approval whose digest is not that of its arguments");
  }
  const { expiresAt, decision: _, ...rest } = approval;
  const from = [facts.origin, ...(approval.from ?? [])];
  if (from.length > MAX_ORIGINS) {
    throw new UnfitQuestion(`it asked for an approval that came through ${from.length} agents`);
  }
  // Its clock decides: what is over by ours may still be open there.
  const isOver = expiresAt !== undefined && Date.parse(expiresAt) <= facts.now.getTime();
  return {
    ...rest,
    id: facts.id,
    options: offered(approval),
    from,
    ...(expiresAt !== undefined && !isOver && { expiresAt }),
  };
}

/**
 * To the sub-agent all callers of this agent may be one, so that nobody may allow it something for
 * good: that would hold for the others, too.
 */
function offered({ options }: Approval): Approval["options"] {
  const left = options.filter((option) => option !== "always");
  return left.length === 0 ? ["reject"] : left;
}

function checked(approval: Approval): Approval {
  try {
    return checkApproval(approval, "approval");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnfitQuestion(`it asked for an approval that cannot be read: ${why}`);
  }
}
