import type { Metadata } from "../part.ts";
import { checkOf } from "../wire/check.ts";
import type { Schema } from "../wire/schema/schema.ts";
import { checkTime, dataField, extensionData } from "./extension-data.ts";
import { EXTENSIONS } from "./extensions.ts";

/** `message.metadata["<uri>"]`: what whoever works on the message may still use. What is absent has no limit. */
export interface Budget {
  /** Tokens of models, read and written. */
  readonly tokens?: number;
  /** In US dollars. */
  readonly costUsd?: number;
  /** ISO 8601 in UTC. */
  readonly deadline?: string;
  /** How many more times the work may be handed on; at 0 the callee has no sub-agents. */
  readonly depth?: number;
  /** The agents that the work has come through, the first one first. */
  readonly visited?: readonly string[];
}

/** `task.metadata["<uri>"]` of a task that has ended: what it used, its sub-agents included. */
export interface BudgetReport {
  readonly used: {
    readonly tokens: number;
    readonly costUsd?: number;
    /** How many times work was handed on. */
    readonly calls: number;
  };
  /** The limit that ended the task, if one did. */
  readonly exceeded?: BudgetLimit;
}

/** `cycle`: the agent is among those that the work has come through. */
export type BudgetLimit = "tokens" | "cost" | "deadline" | "depth" | "cycle";

/** The most that a message can name. */
export const BUDGET_BOUNDS = { depth: 64, visited: 64 } as const;

const FIELD = dataField("message.metadata", EXTENSIONS.budget.uri);

const count: Schema = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const amount: Schema = { type: "number", minimum: 0 };

export const BUDGET: Schema = {
  type: "object",
  properties: {
    tokens: count,
    costUsd: amount,
    deadline: { type: "string" },
    depth: { type: "integer", minimum: 0, maximum: BUDGET_BOUNDS.depth },
    visited: {
      type: "array",
      maxItems: BUDGET_BOUNDS.visited,
      items: { type: "string", minLength: 1, maxLength: 1024 },
    },
  },
};

export const BUDGET_REPORT: Schema = {
  type: "object",
  required: ["used"],
  properties: {
    used: {
      type: "object",
      required: ["tokens", "calls"],
      properties: { tokens: count, costUsd: amount, calls: count },
    },
    exceeded: { enum: ["tokens", "cost", "deadline", "depth", "cycle"] },
  },
};

const checkBudget = checkOf(BUDGET);
const checkReport = checkOf(BUDGET_REPORT);

/** The budget that came with a message, if one did. Only where the extension is active. */
export function budgetOf(metadata: Metadata | undefined): Budget | undefined {
  const data = extensionData(metadata, EXTENSIONS.budget.uri);
  if (data === undefined) return undefined;
  checkBudget(data, FIELD);
  const budget = data as Budget;
  checkTime(budget.deadline, `${FIELD}.deadline`);
  return budget;
}

/** What an ended task says it has used, if it says so. */
export function budgetReportOf(metadata: Metadata | undefined): BudgetReport | undefined {
  const data = extensionData(metadata, EXTENSIONS.budget.uri);
  if (data === undefined) return undefined;
  checkReport(data, dataField("task.metadata", EXTENSIONS.budget.uri));
  return data as BudgetReport;
}
