import { type BudgetReport, type Task, budgetReportOf } from "@convoke/protocol";
import type { DelegatedUsage } from "../loop/usage.ts";

/** What a sub-agent used, as far as it says so; one call in any case. */
export function childUsage({ metadata }: Task): DelegatedUsage {
  const { tokens = 0, costUsd, calls = 0 } = reported(metadata)?.used ?? {};
  return { calls: 1 + calls, tokens, ...(costUsd !== undefined && { costUsd }) };
}

/** A report that cannot be read says nothing; what the sub-agent did is not worth less by it. */
function reported(metadata: Task["metadata"]): BudgetReport | undefined {
  try {
    return budgetReportOf(metadata);
  } catch {
    return undefined;
  }
}
