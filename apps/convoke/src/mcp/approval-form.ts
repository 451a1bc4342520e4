import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalOption,
  approvalPath,
} from "@convoke/protocol";
import { oneLine, printable } from "@convoke/protocol/internal";
import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";

/** Other arguments are more than a form can hold; `convoke approvals answer --edit` has them. */
const CHOICES: Readonly<Record<Exclude<ApprovalOption, "edit">, string>> = {
  once: "Approve this once",
  conversation: "Approve for the rest of this conversation",
  always: "Approve from now on",
  reject: "Reject",
};

/** What would be too long to be read is not decided in a form. */
const MAX_SHOWN = 20_000;

/** The form by which a person decides, or nothing where it could not show everything. */
export function approvalForm(approval: Approval): ElicitRequestFormParams | undefined {
  const message = approvalText(approval);
  const choices = choicesOf(approval);
  if (message.length > MAX_SHOWN || choices.length === 0) return undefined;
  return {
    mode: "form",
    message,
    requestedSchema: {
      type: "object",
      properties: {
        decision: {
          type: "string",
          title: "Decision",
          oneOf: choices.map((option) => ({ const: option, title: CHOICES[option] })),
        },
        feedback: {
          type: "string",
          title: "Why, if you reject it",
          description: "The agent is told.",
        },
      },
      required: ["decision"],
    },
  };
}

/** What a person must see to decide: what is to run, with which arguments, and how dangerous it is. */
export function approvalText(approval: Approval): string {
  const { title, prompt, risk, tool, preview } = approval;
  const whom = oneLine(approvalPath(approval));
  const lines = [
    `Approve${whom === "" ? "" : ` for ${whom}`}: ${oneLine(title)}?`,
    `Risk: ${risk}`,
    ...(prompt === undefined ? [] : [prompt]),
    `Tool: ${oneLine(tool.name)}`,
    `Arguments: ${JSON.stringify(tool.arguments, null, 2)}`,
    ...(preview?.kind === "text" ? [`Preview:\n${preview.text}`] : []),
    ...(preview?.kind === "diff" ? [`File: ${oneLine(preview.path)}`] : []),
    ...(preview?.kind === "diff" && preview.before !== undefined
      ? [`Before:\n${preview.before}`]
      : []),
    ...(preview?.kind === "diff" && preview.after !== undefined
      ? [`After:\n${preview.after}`]
      : []),
  ];
  return printable(lines.join("\n"));
}

/** The decision of a filled form; refusing the form refuses the call, and closing it decides nothing. */
export function approvalDecision(
  approval: Approval,
  action: string,
  content: Readonly<Record<string, unknown>>,
): ApprovalAnswer | undefined {
  const { id: approvalId, digest } = approval;
  if (action === "decline") return { approvalId, digest, option: "reject" };
  const option = choicesOf(approval).find((choice) => choice === content["decision"]);
  if (action !== "accept" || option === undefined) return undefined;
  const { feedback } = content;
  const isTold = option === "reject" && typeof feedback === "string" && feedback.trim() !== "";
  return { approvalId, digest, option, ...(isTold && { feedback }) };
}

function choicesOf({ options }: Approval): readonly (keyof typeof CHOICES)[] {
  return options.filter(
    (option) => option !== "edit" && option in CHOICES,
  ) as (keyof typeof CHOICES)[];
}
