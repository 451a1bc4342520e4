import type {
  A2APart,
  Approval,
  ApprovalOption,
  ApprovalPreview,
  Metadata,
} from "@convoke/protocol";
import type { ApprovalWords, ConfirmRule, Confirmation, ConfirmedCall } from "../tools/tool.ts";
import { digestArguments } from "./gate.ts";

export interface ApprovalFacts {
  readonly id: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: Metadata;
  readonly words: ApprovalWords;
  readonly now: Date;
  /** How long it may stay open; for as long as the task by default. */
  readonly expiresInMs?: number | undefined;
}

const ALL: readonly ApprovalOption[] = ["once", "conversation", "always", "reject", "edit"];
/** What is dangerous is asked each time. */
const EACH_TIME: readonly ApprovalOption[] = ["once", "reject", "edit"];

const MAX_TITLE = 256;
const MAX_PROMPT = 4000;

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
