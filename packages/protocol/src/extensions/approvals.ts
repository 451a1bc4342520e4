import { encodeBase64Url } from "../internal/base64url.ts";
import { type JsonObject, canonicalJson, isObject } from "../internal/json.ts";
import type { Metadata } from "../model/part.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { EXTENSIONS, checkTime, extensionData } from "./extensions.ts";
import { A2AError, invalidParams } from "../model/errors.ts";
import type { Message } from "../model/message.ts";
import { type Task, isInterrupted } from "../model/task.ts";

/** The meaning of a data part: `part.metadata["<uri>"].type`. */
export type ApprovalPartType = "approval-request" | "approval-answer";

/** How dangerous the call is, for display. */
export const APPROVAL_RISKS = ["info", "warning", "danger"] as const;

export type ApprovalRisk = (typeof APPROVAL_RISKS)[number];

/**
 * The possible answers: allow the call once, for the rest of the conversation, or always; reject
 * it, optionally with feedback for the agent; or run it with edited arguments.
 */
export const APPROVAL_OPTIONS = ["once", "conversation", "always", "reject", "edit"] as const;

export type ApprovalOption = (typeof APPROVAL_OPTIONS)[number];

/** How an approval ended. A message that does not answer it supersedes it and never approves it. */
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
  /** The digest of the arguments, see {@link digestArguments}: the decision applies to these only. */
  readonly digest: string;
  /** One line. */
  readonly title: string;
  /** A longer explanation for a person. */
  readonly prompt?: string;
  readonly risk: ApprovalRisk;
  /** What the call would do. */
  readonly preview?: ApprovalPreview;
  /** In display order. */
  readonly options: readonly ApprovalOption[];
  readonly createdAt: string;
  /** When the approval expires and counts as rejected. Without it, it waits as long as the task does. */
  readonly expiresAt?: string;
  /** Absent while it is open. */
  readonly decision?: ApprovalDecision;
  /**
   * The sub-agents that passed the request on, the nearest first, with the tasks in which they ask.
   * Absent if the agent itself wants to make the call.
   */
  readonly from?: readonly ApprovalOrigin[];
}

/** A sub-agent, by the name that its caller uses. */
export interface ApprovalOrigin {
  readonly name: string;
  readonly taskId: string;
}

/** A text to display, or a file before and after the change. */
export type ApprovalPreview = (
  | { readonly kind: "text"; readonly text: string; readonly mediaType?: string }
  | {
      readonly kind: "diff";
      readonly path: string;
      /** Absent if the file is new. */
      readonly before?: string;
      /** Absent if the file is deleted. */
      readonly after?: string;
    }
) & {
  /** What extensions add, by their URIs. */
  readonly metadata?: Metadata;
};

export interface ApprovalDecision {
  readonly outcome: ApprovalOutcome;
  /** Absent if there was no answer. */
  readonly option?: ApprovalOption;
  /** The authenticated caller who decided. */
  readonly decidedBy?: string;
  readonly decidedAt: string;
  readonly feedback?: string;
}

/** The `data` of an `approval-answer` part. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  /** The digest of the request, so that a decision cannot apply to arguments that were not displayed. */
  readonly digest: string;
  readonly option: ApprovalOption;
  /** Only with `reject`: feedback for the agent. */
  readonly feedback?: string;
  /** Only with `edit`, where it is required: the arguments to use instead. */
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
        metadata: object,
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

/** The required fields of a preview, by its kind. */
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

const checkShape = compileCheck(APPROVAL);
const checkPreview = {
  text: compileCheck(APPROVAL_PREVIEW.text),
  diff: compileCheck(APPROVAL_PREVIEW.diff),
} as const;

/** Returns the data as an approval, or throws an error that names the invalid field. */
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

const checkAnswerShape = compileCheck(APPROVAL_ANSWER);

/** Checks the form of an answer; `answerApproval` checks whether it fits its approval. */
export function checkApprovalAnswer(data: unknown, field: string): ApprovalAnswer {
  checkAnswerShape(data, field);
  return data as ApprovalAnswer;
}

/** The digest of arguments: SHA-256 of their canonical form (RFC 8785), in base64url. */
export async function digestArguments(toolArguments: Metadata): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(toolArguments));
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return `sha-256:${encodeBase64Url(new Uint8Array(hash))}`;
}

/** The sub-agents that passed an approval on, for display: `planner › payer`; empty if the agent itself asks. */
export function approvalPath({ from = [] }: Pick<Approval, "from">): string {
  return from.map(({ name }) => name).join(" › ");
}

/** The question that an approval asks, for people. */
export function approvalQuestion(approval: Approval): string {
  const { title, prompt } = approval;
  const whom = approvalPath(approval);
  const question = `Approve${whom === "" ? "" : ` for ${whom}`}: ${title}?`;
  return prompt === undefined ? question : `${question}\n${prompt}`;
}

/**
 * `message.metadata["<uri>"]` of a question to a caller that has not activated the extension: the
 * same data as in `approval-request` parts, where a client that displays parts does not show it.
 */
export interface ApprovalRequests {
  readonly requests: readonly Approval[];
}

/** The approvals in a message: as data parts, or in its metadata. */
export function approvalsIn({ parts, metadata }: Pick<Message, "parts" | "metadata">): {
  readonly inParts: readonly Approval[];
  readonly inMetadata: readonly Approval[];
} {
  const { uri } = EXTENSIONS.approvals;
  const inParts = parts.flatMap((part) => {
    const mark = fieldsOf(extensionData(part.metadata, uri));
    return part.kind === "data" && mark["type"] === "approval-request" ? [part.data] : [];
  });
  const { requests } = fieldsOf(extensionData(metadata, uri));
  const inMetadata: readonly unknown[] = Array.isArray(requests) ? requests : [];
  return { inParts: inParts.filter(isApproval), inMetadata: inMetadata.filter(isApproval) };
}

/** The approvals that a task waits for, without those that have expired. */
export function openApprovals({ status }: Task, at: Date): readonly Approval[] {
  if (status.message === undefined || !isInterrupted(status.state)) return [];
  const { inParts, inMetadata } = approvalsIn(status.message);
  return [...inParts, ...inMetadata].filter(
    ({ decision, expiresAt }) =>
      decision === undefined && (expiresAt === undefined || Date.parse(expiresAt) > at.getTime()),
  );
}

/** Checks only what is needed to identify and display an approval; its sender has checked the rest. */
function isApproval(data: unknown): data is Approval {
  const { id, tool } = fieldsOf(data);
  return typeof id === "string" && typeof tool === "object" && tool !== null;
}

function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** An answer and its context. */
interface AnswerContext {
  readonly answer: ApprovalAnswer;
  /** The path of the answer in the request, for errors: `message.parts[0].data`. */
  readonly field: string;
  /** The authenticated caller who answers. */
  readonly by: string;
  readonly now: Date;
}

/**
 * Turns an answer into a decision. Throws if the task has no such approval, if it is decided
 * already or has expired, or if its arguments are not those that were displayed.
 */
export function answerApproval(
  approval: Approval | undefined,
  { answer, field, by, now }: AnswerContext,
): ApprovalDecision {
  const { approvalId, option, feedback } = answer;
  if (approval === undefined) throw unusable(field, approvalId, "is no approval of this task");
  const { decision, expiresAt, options } = approval;
  if (decision !== undefined) {
    throw unusable(
      field,
      approvalId,
      `is ${decision.outcome} already, since ${decision.decidedAt}`,
    );
  }
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime()) {
    throw unusable(field, approvalId, `has expired at ${expiresAt}`);
  }
  if (answer.digest !== approval.digest) {
    throw invalidParams(`${field}.digest`, "is not that of the call that waits; read it again");
  }
  if (!options.includes(option)) {
    throw invalidParams(`${field}.option`, `must be one of ${options.join(", ")}`);
  }
  checkExtras(answer, field);
  return {
    outcome: option === "reject" ? "rejected" : "approved",
    option,
    decidedBy: by,
    decidedAt: now.toISOString(),
    ...(feedback !== undefined && { feedback }),
  };
}

/** The message, marked as the decision of a caller that decides for the owner of the task. */
export function withDecider(message: Message, owner: string): Message {
  const { metadata = {} } = message;
  return {
    ...message,
    metadata: { ...metadata, [EXTENSIONS.approvals.uri]: { decidedBy: owner } },
  };
}

/** The caller that decided for the owner of the task. Only the server can say so. */
export function deciderOf({ metadata }: Message): string | undefined {
  const mark = metadata?.[EXTENSIONS.approvals.uri];
  const by = isObject(mark) ? mark["decidedBy"] : undefined;
  return typeof by === "string" ? by : undefined;
}

function checkExtras({ option, feedback, arguments: edited }: ApprovalAnswer, field: string): void {
  if (feedback !== undefined && option !== "reject") {
    throw invalidParams(`${field}.feedback`, "goes with the option reject alone");
  }
  if (option === "edit" && edited === undefined) {
    throw invalidParams(`${field}.arguments`, "is required with the option edit");
  }
  if (option !== "edit" && edited !== undefined) {
    throw invalidParams(`${field}.arguments`, "goes with the option edit alone");
  }
}

function unusable(field: string, approvalId: string, problem: string): A2AError {
  return new A2AError(
    "InvalidParams",
    `${field}.approvalId ${JSON.stringify(approvalId)} ${problem}`,
    {
      field: `${field}.approvalId`,
      details: { approvalId },
    },
  );
}
