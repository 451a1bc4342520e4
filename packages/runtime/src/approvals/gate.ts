import type {
  A2APart,
  Approval,
  ApprovalDecision,
  ApprovalOption,
  ApprovalPreview,
  InternalEventBase,
  Metadata,
} from "@convoke/protocol";
import { canonicalJson, isObject } from "@convoke/protocol/internal";
import { createHash } from "node:crypto";
import type { ApprovalWords, ConfirmRule, Confirmation, ConfirmedCall } from "../tools/tool.ts";

/** What the gate needs to know about a call. */
export interface GatedCall {
  readonly toolCallId: string;
  /** The digest of the arguments that are about to run. */
  readonly digest: string;
  /** Whether the tool's `confirm` rule requires a decision. */
  readonly isGuarded: boolean;
}

/**
 * The only gate (G11: approvals cannot be bypassed). A guarded call runs only if a recorded
 * decision approves exactly this call with exactly these arguments. Calls that a rule denies do
 * not get here: see `confirmCall`.
 */
export function mayRun(call: GatedCall, decisions: readonly ApprovalDecidedEvent[]): boolean {
  if (!call.isGuarded) return true;
  return decisions.some(
    ({ outcome, toolCallId, digest }) =>
      outcome === "approved" && toolCallId === call.toolCallId && digest === call.digest,
  );
}

/** The digest of arguments: SHA-256 of their canonical JSON (RFC 8785), in base64url. */
export function digestArguments(toolArguments: Metadata): string {
  const hash = createHash("sha256").update(canonicalJson(toolArguments)).digest("base64url");
  return `sha-256:${hash}`;
}

// The approval events in a task's log: what was asked, and what was decided.

export interface ApprovalRequestedEvent extends InternalEventBase {
  readonly kind: "internal:approval-requested";
  readonly toolCallId: string;
  readonly approval: Approval;
  readonly timestamp: string;
}

/** The record that lets a guarded call run, if it approves the same arguments. */
export interface ApprovalDecidedEvent extends InternalEventBase, ApprovalDecision {
  readonly kind: "internal:approval-decided";
  /** Absent if an earlier decision covers the call, so that nothing was asked. */
  readonly approvalId?: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** The digest of the approved arguments, after edits if there were any. */
  readonly digest: string;
  /** The edited arguments, if the decision changed them. */
  readonly arguments?: Metadata;
}

interface ApprovalFacts {
  readonly id: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: Metadata;
  readonly words: ApprovalWords;
  readonly now: Date;
  /** How long the approval may stay pending. Default: as long as the task. */
  readonly expiresInMs?: number | undefined;
}

const MAX_PROMPT = 4000;

const MAX_TITLE = 256;

/** Dangerous calls need a new approval each time. */
const EACH_TIME: readonly ApprovalOption[] = ["once", "reject", "edit"];

const ALL: readonly ApprovalOption[] = ["once", "conversation", "always", "reject", "edit"];

/** Creates the approval that a call waits for. */
export function askApproval(facts: ApprovalFacts): Approval {
  const { id, toolCallId, toolName, words, now, expiresInMs } = facts;
  const { risk = "warning", title = `Run ${toolName}` } = words;
  const preview = previewOf(words.preview ?? []);
  const prompt = words.prompt ?? JSON.stringify(facts.arguments, undefined, 2).slice(0, MAX_PROMPT);
  return {
    id,
    tool: { callId: toolCallId, name: toolName, arguments: facts.arguments },
    digest: digestArguments(facts.arguments),
    title: title.slice(0, MAX_TITLE),
    prompt,
    risk,
    ...(preview && { preview }),
    options: risk === "danger" ? EACH_TIME : ALL,
    createdAt: now.toISOString(),
    ...(expiresInMs !== undefined && {
      expiresAt: new Date(now.getTime() + expiresInMs).toISOString(),
    }),
  };
}

/**
 * The first part that can be shown: a text, data with a text, or data with a file path and the
 * content before and after. What an extension adds to the data is kept under its URI.
 */
function previewOf(parts: readonly A2APart[]): ApprovalPreview | undefined {
  for (const part of parts) {
    if (part.kind === "text") {
      const { text, mediaType } = part;
      return { kind: "text", text, ...(mediaType !== undefined && { mediaType }) };
    }
    if (part.kind !== "data" || !isObject(part.data)) continue;
    const { path, before, after, text, ...rest } = part.data;
    const metadata = part.metadata && extensionFields(part.metadata, rest);
    if (typeof text === "string") return { kind: "text", text, ...(metadata && { metadata }) };
    if (typeof path !== "string") continue;
    return {
      kind: "diff",
      path,
      ...(typeof before === "string" && { before }),
      ...(typeof after === "string" && { after }),
      ...(metadata && { metadata }),
    };
  }
  return undefined;
}

/** The mark of each extension, with the fields that the extension defines. */
function extensionFields(marks: Metadata, fields: Metadata): Metadata {
  return Object.fromEntries(
    Object.entries(marks).map(([uri, mark]) => [uri, { ...(isObject(mark) && mark), ...fields }]),
  );
}

/** The outcome of a tool's confirm rule for one call. */
type Confirmed =
  | { readonly kind: "allow" }
  | { readonly kind: "deny" }
  | { readonly kind: "ask"; readonly words: ApprovalWords };

/** Evaluates the rule. An unknown result counts as "ask", never as "allow". */
export async function confirmCall(rule: ConfirmRule, call: ConfirmedCall): Promise<Confirmed> {
  if (rule === "never") return { kind: "allow" };
  const said: Confirmation = rule === "ask" ? "ask" : await rule(call);
  if (said === "allow") return { kind: "allow" };
  if (said === "deny") return { kind: "deny" };
  return { kind: "ask", words: typeof said === "object" && said !== null ? said : {} };
}
