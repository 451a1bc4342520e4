import { encodeBase64Url } from "../card/base64url.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Metadata } from "../part.ts";
import { checkOf } from "../wire/check.ts";
import type { Schema } from "../wire/schema/schema.ts";
import { checkTime } from "./extension-data.ts";

/** What a data part stands for: `part.metadata["<uri>"].type`. */
export type ApprovalPartType = "approval-request" | "approval-answer";

/** How dangerous the call is, for whoever shows it. */
export const APPROVAL_RISKS = ["info", "warning", "danger"] as const;
export type ApprovalRisk = (typeof APPROVAL_RISKS)[number];

/**
 * What may be answered: let it run this once, for the rest of the conversation, or from now on;
 * refuse it, with words for the agent; or run it with other arguments.
 */
export const APPROVAL_OPTIONS = ["once", "conversation", "always", "reject", "edit"] as const;
export type ApprovalOption = (typeof APPROVAL_OPTIONS)[number];

/** How an approval ended. A message without an answer supersedes it, and never approves. */
export const APPROVAL_OUTCOMES = ["approved", "rejected", "expired", "superseded"] as const;
export type ApprovalOutcome = (typeof APPROVAL_OUTCOMES)[number];

/** The `data` of an `approval-request` part: a tool call that waits for a decision. */
export interface Approval {
  readonly id: string;
  readonly tool: {
    readonly callId: string;
    readonly name: string;
    readonly arguments: Metadata;
  };
  /** Of the arguments, see {@link digestArguments}: the decision is for these and no others. */
  readonly digest: string;
  /** One line. */
  readonly title: string;
  /** More of it, for a person. */
  readonly prompt?: string;
  readonly risk: ApprovalRisk;
  /** What the call would do. */
  readonly preview?: ApprovalPreview;
  /** In the order in which they are to be shown. */
  readonly options: readonly ApprovalOption[];
  readonly createdAt: string;
  /** From then on it counts as refused. Without it, it waits for as long as the task does. */
  readonly expiresAt?: string;
  /** Absent while it is open. */
  readonly decision?: ApprovalDecision;
  /**
   * Through whom it came, the nearest first: the sub-agents that hand it up, and the tasks in
   * which they ask. Absent where the agent itself wants to make the call.
   */
  readonly from?: readonly ApprovalOrigin[];
}

/** A sub-agent by the name that its caller has for it. */
export interface ApprovalOrigin {
  readonly name: string;
  readonly taskId: string;
}

/** A text to show, or a file before and after. */
export type ApprovalPreview =
  | { readonly kind: "text"; readonly text: string; readonly mediaType?: string }
  | {
      readonly kind: "diff";
      readonly path: string;
      /** Absent when the file is new. */
      readonly before?: string;
      /** Absent when the file goes. */
      readonly after?: string;
    };

export interface ApprovalDecision {
  readonly outcome: ApprovalOutcome;
  /** Absent where nobody answered. */
  readonly option?: ApprovalOption;
  /** Who decided: the caller as the server knows it. */
  readonly decidedBy?: string;
  readonly decidedAt: string;
  readonly feedback?: string;
}

/** The `data` of an `approval-answer` part. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  /** As the request had it, so that nobody decides on what they were not shown. */
  readonly digest: string;
  readonly option: ApprovalOption;
  /** With `reject` alone: what the agent is told. */
  readonly feedback?: string;
  /** With `edit` alone, and there required: what the tool runs with instead. */
  readonly arguments?: Metadata;
}

const id: Schema = { type: "string", minLength: 1, maxLength: 256 };
const digest: Schema = { type: "string", pattern: "^sha-256:[A-Za-z0-9_-]{43}$" };
const text: Schema = { type: "string" };
const object: Schema = { type: "object" };
const option: Schema = { enum: APPROVAL_OPTIONS };

export const APPROVAL: Schema = {
  type: "object",
  required: ["id", "tool", "digest", "title", "risk", "options", "createdAt"],
  properties: {
    id,
    tool: {
      type: "object",
      required: ["callId", "name", "arguments"],
      properties: { callId: id, name: id, arguments: object },
    },
    digest,
    title: { type: "string", minLength: 1, maxLength: 256 },
    prompt: text,
    risk: { enum: APPROVAL_RISKS },
    preview: {
      type: "object",
      required: ["kind"],
      properties: {
        kind: { enum: ["text", "diff"] },
        text,
        mediaType: text,
        path: { type: "string", minLength: 1 },
        before: text,
        after: text,
      },
    },
    options: { type: "array", minItems: 1, items: option },
    createdAt: text,
    expiresAt: text,
    decision: {
      type: "object",
      required: ["outcome", "decidedAt"],
      properties: {
        outcome: { enum: APPROVAL_OUTCOMES },
        option,
        decidedBy: text,
        decidedAt: text,
        feedback: text,
      },
    },
    from: {
      type: "array",
      maxItems: 64,
      items: { type: "object", required: ["name", "taskId"], properties: { name: id, taskId: id } },
    },
  },
};

/** What a preview needs, by its kind. */
export const APPROVAL_PREVIEW = {
  text: { type: "object", required: ["text"] },
  diff: { type: "object", required: ["path"] },
} as const satisfies Record<string, Schema>;

export const APPROVAL_ANSWER: Schema = {
  type: "object",
  required: ["approvalId", "digest", "option"],
  properties: {
    approvalId: id,
    digest,
    option,
    feedback: { type: "string", maxLength: 16_384 },
    arguments: object,
  },
};

const checkShape = checkOf(APPROVAL);
const checkPreview = {
  text: checkOf(APPROVAL_PREVIEW.text),
  diff: checkOf(APPROVAL_PREVIEW.diff),
} as const;
const checkAnswerShape = checkOf(APPROVAL_ANSWER);

/** An approval as it came, or an error that names what is wrong with it. */
export function checkApproval(data: unknown, field: string): Approval {
  checkShape(data, field);
  const approval = data as Approval;
  const { preview, createdAt, expiresAt, decision } = approval;
  if (preview !== undefined) checkPreview[preview.kind](preview, `${field}.preview`);
  checkTime(createdAt, `${field}.createdAt`);
  checkTime(expiresAt, `${field}.expiresAt`);
  checkTime(decision?.decidedAt, `${field}.decision.decidedAt`);
  return approval;
}

/** An answer by its form alone; whether it fits its approval is for `answer-approval.ts`. */
export function checkApprovalAnswer(data: unknown, field: string): ApprovalAnswer {
  checkAnswerShape(data, field);
  return data as ApprovalAnswer;
}

/** The digest of arguments: SHA-256 of their one spelling (RFC 8785), in base64url. */
export async function digestArguments(toolArguments: Metadata): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(toolArguments));
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return `sha-256:${encodeBase64Url(new Uint8Array(hash))}`;
}

/** Through whom an approval came, for people: `planner › payer`; nothing for one of the agent itself. */
export function approvalPath({ from = [] }: Pick<Approval, "from">): string {
  return from.map(({ name }) => name).join(" › ");
}
