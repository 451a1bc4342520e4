import type {
  A2APart,
  Approval,
  ApprovalDecision,
  ApprovalOption,
  ApprovalPreview,
  InternalEventBase,
  Metadata,
} from "@convoke/protocol";
import { canonicalJson } from "@convoke/protocol/internal";
import { createHash } from "node:crypto";
import type { ApprovalWords, ConfirmRule, Confirmation, ConfirmedCall } from "../tools/tool.ts";

/** A call as the gate knows it. */
export interface GatedCall {
  readonly toolCallId: string;
  /** Of the arguments that are about to run. */
  readonly digest: string;
  /** Whether the tool's rule wants a decision for it. */
  readonly isGuarded: boolean;
}

/**
 * The only gate (G11). A guarded call runs when there is a decision that
 * approves this very call with these very arguments, and never otherwise.
 */
export function mayRun(call: GatedCall, decisions: readonly ApprovalDecidedEvent[]): boolean {
  if (!call.isGuarded) return true;
  return decisions.some(
    ({ outcome, toolCallId, digest }) =>
      outcome === "approved" && toolCallId === call.toolCallId && digest === call.digest,
  );
}

/** The digest of arguments: SHA-256 of their one spelling (RFC 8785), in base64url. */
export function digestArguments(toolArguments: Metadata): string {
  const hash = createHash("sha256").update(canonicalJson(toolArguments)).digest("base64url");
  return `sha-256:${hash}`;
}

// Approvals in the log of their task: what was asked, and what was decided.

export interface ApprovalRequestedEvent extends InternalEventBase {
  readonly kind: "internal:approval-requested";
  readonly toolCallId: string;
  readonly approval: Approval;
  readonly timestamp: string;
}

/** A call may run by such an event alone, if it approves the very arguments. */
export interface ApprovalDecidedEvent extends InternalEventBase, ApprovalDecision {
  readonly kind: "internal:approval-decided";
  /** Absent if an earlier decision covers the call, so that nothing was asked. */
  readonly approvalId?: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Of the arguments that are decided on: those that were edited, where they were. */
  readonly digest: string;
  /** Where the answer has other arguments than the call. */
  readonly arguments?: Metadata;
}

interface ApprovalFacts {
  readonly id: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: Metadata;
  readonly words: ApprovalWords;
  readonly now: Date;
  /** How long it may stay open; for as long as the task by default. */
  readonly expiresInMs?: number | undefined;
}

const MAX_PROMPT = 4000;

const MAX_TITLE = 256;

/** What is dangerous is asked each time. */
const EACH_TIME: readonly ApprovalOption[] = ["once", "reject", "edit"];

const ALL: readonly ApprovalOption[] = ["once", "conversation", "always", "reject", "edit"];

/** The approval that a call waits for. */
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

/** The first part that can be shown: a text, or data with the path of a file and what it was and becomes. */
function previewOf(parts: readonly A2APart[]): ApprovalPreview | undefined {
  for (const part of parts) {
    if (part.kind === "text") {
      const { text, mediaType } = part;
      return { kind: "text", text, ...(mediaType !== undefined && { mediaType }) };
    }
    if (part.kind !== "data") continue;
    const { path, before, after } = part.data as Readonly<Record<string, unknown>>;
    if (typeof path !== "string") continue;
    return {
      kind: "diff",
      path,
      ...(typeof before === "string" && { before }),
      ...(typeof after === "string" && { after }),
    };
  }
  return undefined;
}

/** What the tool's rule says to a call. */
type Confirmed =
  | { readonly kind: "allow" }
  | { readonly kind: "deny" }
  | { readonly kind: "ask"; readonly words: ApprovalWords };

/** Asks the rule. One that says nothing that we know counts as "ask": never as "allow". */
export async function confirmCall(rule: ConfirmRule, call: ConfirmedCall): Promise<Confirmed> {
  if (rule === "never") return { kind: "allow" };
  const said: Confirmation = rule === "ask" ? "ask" : await rule(call);
  if (said === "allow") return { kind: "allow" };
  if (said === "deny") return { kind: "deny" };
  return { kind: "ask", words: typeof said === "object" && said !== null ? said : {} };
}
