import type { Message } from "../model/message.ts";
import { checkApprovalAnswer } from "./approvals.ts";
import { budgetOf } from "./budget.ts";
import { declaredTools, toolResult } from "./client-tools.ts";
import { EXTENSIONS, dataOfType } from "./extensions.ts";
import { chosenSkill } from "./skill.ts";

/**
 * Checks the data of our own extensions in a message. Data of an extension that is not active is
 * not checked: it is kept like any other metadata.
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
