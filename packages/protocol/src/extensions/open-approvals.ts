import type { Message } from "../message.ts";
import { isInterrupted, type Task } from "../task.ts";
import type { Approval } from "./approvals.ts";
import { extensionData } from "./extension-data.ts";
import { EXTENSIONS } from "./extensions.ts";

/**
 * `message.metadata["<uri>"]` of a question to a caller that has not activated the extension: the
 * same as its `approval-request` parts, where nobody who shows or reads parts comes upon it.
 */
export interface ApprovalRequests {
  readonly requests: readonly Approval[];
}

/** The approvals that a message has: as data parts, or in its metadata. */
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

/** The approvals that a task waits for; those that have expired by then are not among them. */
export function openApprovals({ status }: Task, at: Date): readonly Approval[] {
  if (status.message === undefined || !isInterrupted(status.state)) return [];
  const { inParts, inMetadata } = approvalsIn(status.message);
  return [...inParts, ...inMetadata].filter(
    ({ decision, expiresAt }) =>
      decision === undefined && (expiresAt === undefined || Date.parse(expiresAt) > at.getTime()),
  );
}

/** As far as it must be one to be told apart and shown: whoever made it has checked the rest. */
function isApproval(data: unknown): data is Approval {
  const { id, tool } = fieldsOf(data);
  return typeof id === "string" && typeof tool === "object" && tool !== null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
