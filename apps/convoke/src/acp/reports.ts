import type { PlanEntry as AcpPlanEntry, ToolCallStatus } from "@agentclientprotocol/sdk";
import { type CallDetails, type CoderToolCall, type PlanEntry, isDetails } from "@convoke/coder";
import type { JsonObject } from "@convoke/protocol/internal";
import { listField, objectField, textField } from "../terminal/json-fields.ts";

// What the extensions of an agent report. The agent may be any, so nothing is taken for granted.

/** What is known about a tool call, whichever extension reports it. */
export interface ReportedCall {
  readonly name?: string;
  readonly title?: string;
  readonly status?: ToolCallStatus;
  readonly input?: unknown;
  readonly details?: CallDetails;
  /** What it has written so far. */
  readonly output?: string;
  readonly result?: unknown;
  readonly error?: string;
}

export function isOver(status: ToolCallStatus | undefined): boolean {
  return status === "completed" || status === "failed";
}

const STATUS: Partial<Readonly<Record<string, ToolCallStatus>>> = {
  PENDING: "pending",
  EXECUTING: "in_progress",
  SUCCEEDED: "completed",
  FAILED: "failed",
  CANCELLED: "failed",
} satisfies Record<CoderToolCall["status"], ToolCallStatus>;

/** A call of the coder extension. */
export function coderCall(data: JsonObject): ReportedCall {
  const { details } = data;
  const title = textField(objectField(data, "confirmation")["approval"], "title");
  const error = textField(data, "error");
  return {
    ...ownFields(data),
    status: STATUS[textField(data, "status")] ?? "pending",
    ...(title !== "" && { title }),
    ...(isDetails(details) && { details }),
    ...(error !== "" && { error }),
  };
}

/** A call of the tool-activity extension, or its result. */
export function activityCall(data: JsonObject): ReportedCall {
  const { error } = data;
  const isDone = "result" in data;
  if (error === undefined) return { ...ownFields(data), status: isDone ? "completed" : "pending" };
  const text = typeof error === "string" ? error : JSON.stringify(error);
  return { ...ownFields(data), status: "failed", error: text };
}

/** What the calls of both have. */
function ownFields(data: JsonObject): ReportedCall {
  const { input, result } = data;
  return {
    name: textField(data, "name"),
    ...(input !== undefined && { input }),
    ...(result !== undefined && { result }),
  };
}

/** The description alone, if it begins with the subject. */
export function thoughtText(data: JsonObject): string {
  const subject = textField(data, "subject");
  const description = textField(data, "description");
  return description.startsWith(subject) ? description : `**${subject}** ${description}`;
}

/** The steps of a plan. */
export function planEntries(data: JsonObject): AcpPlanEntry[] {
  return listField(data, "entries").map((entry) => {
    const { status, priority } = objectField({ entry }, "entry") as Partial<PlanEntry>;
    return {
      content: textField(entry, "content"),
      status: PLAN_STATUSES.find((one) => one === status) ?? "pending",
      priority: PRIORITIES.find((one) => one === priority) ?? "medium",
    };
  });
}

const PLAN_STATUSES = ["pending", "in_progress", "completed"] as const;
const PRIORITIES = ["high", "medium", "low"] as const;
