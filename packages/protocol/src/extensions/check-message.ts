import type { Message } from "../message.ts";
import { checkApprovalAnswer } from "./approvals.ts";
import { budgetOf } from "./budget.ts";
import { declaredTools, toolResult } from "./client-tools.ts";
import { extensionData } from "./extension-data.ts";
import { EXTENSIONS } from "./extensions.ts";
import { chosenSkill } from "./skill.ts";

/**
 * Checks what a message says in the words of our own extensions. Of one that is not active nothing
 * is checked: then its data are like any other metadata, kept and without a meaning.
 */
export function checkExtensionData(message: Message, active: ReadonlySet<string>): void {
  if (active.has(EXTENSIONS.skill.uri)) chosenSkill(message);
  if (active.has(EXTENSIONS.budget.uri)) budgetOf(message.metadata);
  if (active.has(EXTENSIONS.clientTools.uri)) {
    declaredTools(message.metadata);
    for (const { data, field } of dataOfType(message, EXTENSIONS.clientTools.uri, "tool-result")) {
      toolResult(data, field);
    }
  }
  if (active.has(EXTENSIONS.approvals.uri)) {
    for (const { data, field } of dataOfType(
      message,
      EXTENSIONS.approvals.uri,
      "approval-answer",
    )) {
      checkApprovalAnswer(data, field);
    }
  }
}

/** The data parts that an extension marks with a type, and where they are. */
export function dataOfType(
  { parts }: Message,
  uri: string,
  type: string,
): readonly { readonly data: unknown; readonly field: string }[] {
  return parts.flatMap((part, place) => {
    if (part.kind !== "data") return [];
    const mark = extensionData(part.metadata, uri) as { readonly type?: unknown } | null;
    return mark?.type === type ? [{ data: part.data, field: `message.parts[${place}].data` }] : [];
  });
}
