import { approvalsAnswerCommand } from "./approvals-answer.ts";
import { approvalsListCommand } from "./approvals-list.ts";
import type { CommandGroup } from "./command.ts";

export const approvalsCommands: CommandGroup = {
  name: "approvals",
  summary: "See what waits for your approval, and decide on it",
  commands: [approvalsListCommand, approvalsAnswerCommand],
};
