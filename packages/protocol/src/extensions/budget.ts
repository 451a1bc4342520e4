import type { Metadata } from "../model/part.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { EXTENSIONS, checkTime, dataField, extensionData } from "./extensions.ts";

/** `message.metadata["<uri>"]`: what the receiver of the message may still use. Absent fields are unlimited. */
export interface Budget {
  /** Model tokens, input and output. */
  readonly tokens?: number;
  /** In US dollars. */
  readonly costUsd?: number;
  /** ISO 8601 in UTC. */
  readonly deadline?: string;
  /** How many more times the work may be delegated; at 0 the receiver may not use sub-agents. */
  readonly depth?: number;
  /** The agents that delegated the work so far, the first one first. */
  readonly visited?: readonly string[];
}

/** `task.metadata["<uri>"]` of a task that has ended: what it used, including its sub-agents. */
export interface BudgetReport {
  readonly used: {
    readonly tokens: number;
    readonly costUsd?: number;
    /** How many times work was delegated. */
    readonly calls: number;
  };
  /** The limit that ended the task, if one did. */
  readonly exceeded?: BudgetLimit;
}

/** `cycle`: the agent already delegated this work. */
export type BudgetLimit = "tokens" | "cost" | "deadline" | "depth" | "cycle";

/** Maximum values in a message. */
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

const checkBudget = compileCheck(BUDGET);

/** The budget of a message, if any. Call it only if the extension is active. */
export function readBudget(metadata: Metadata | undefined): Budget | undefined {
  const data = extensionData(metadata, EXTENSIONS.budget.uri);
  if (data === undefined) return undefined;
  checkBudget(data, FIELD);
  const budget = data as Budget;
  checkTime(budget.deadline, `${FIELD}.deadline`);
  return budget;
}

const checkReport = compileCheck(BUDGET_REPORT);

/** The usage report of an ended task, if any. */
export function readBudgetReport(metadata: Metadata | undefined): BudgetReport | undefined {
  const data = extensionData(metadata, EXTENSIONS.budget.uri);
  if (data === undefined) return undefined;
  checkReport(data, dataField("task.metadata", EXTENSIONS.budget.uri));
  return data as BudgetReport;
}
