import {
  type BudgetLimit,
  type BudgetReport,
  EXTENSIONS,
  type Metadata,
  type Turn,
} from "@convoke/protocol";
import type { Usage } from "./usage.ts";

const { uri } = EXTENSIONS.budget;

/** The limits of the extension by the names that the end of a loop has for them. */
const LIMITS: Readonly<Record<string, BudgetLimit>> = {
  tokens: "tokens",
  cost: "cost",
  timeMs: "deadline",
  deadline: "deadline",
  depth: "depth",
  cycle: "cycle",
};

/** What a task has used, its sub-agents included, for a caller that has activated the extension. */
export function budgetReport(
  { extensions }: Pick<Turn, "extensions">,
  { inputTokens, outputTokens, cost, subAgents }: Usage,
  { budget }: Metadata,
): Metadata {
  if (!extensions.has(uri)) return {};
  const exceeded = typeof budget === "string" ? LIMITS[budget] : undefined;
  const report: BudgetReport = {
    used: {
      tokens: inputTokens + outputTokens + (subAgents?.tokens ?? 0),
      ...(cost !== undefined && { costUsd: cost }),
      calls: subAgents?.calls ?? 0,
    },
    ...(exceeded && { exceeded }),
  };
  return { [uri]: report };
}
