import {
  type ElicitRequestFormParams,
  type InputRequest,
  type InputRequests,
  inputRequired,
} from "@modelcontextprotocol/server";
import { oneLine, printable } from "@convoke/protocol/internal";
import type { PendingRequest, TextQuestion } from "./questions.ts";
import type { Host } from "./host.ts";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalOption,
  approvalPath,
} from "@convoke/protocol";

/** The questions that the host should ask the user; empty if it cannot or must not. */
export function elicitations(
  asked: readonly PendingRequest[],
  host: Host,
  wasVisited: boolean,
): InputRequests {
  const requests = asked.flatMap((one): readonly (readonly [string, InputRequest])[] => {
    const request = elicitation(one, host, wasVisited);
    return request === undefined ? [] : [[one.id, request]];
  });
  return Object.fromEntries(requests);
}

function elicitation(
  one: PendingRequest,
  host: Host,
  wasVisited: boolean,
): InputRequest | undefined {
  switch (one.kind) {
    case "approval":
      return byForm(host, approvalForm(one.approval));
    case "words":
      return byForm(host, questionForm(one));
    case "sign-in":
      if (wasVisited || one.url === undefined) return byForm(host, doneForm(one.text));
      return host.opensUrls
        ? inputRequired.elicitUrl({ message: shown(one.text), url: one.url })
        : undefined;
    // MCP forbids asking for secrets in a form, because the host may show them to its model.
    case "secret":
      return undefined;
    default:
      return one satisfies never;
  }
}

function byForm(host: Host, form: ElicitRequestFormParams | undefined): InputRequest | undefined {
  return host.fillsForms && form !== undefined ? inputRequired.elicit(form) : undefined;
}

function questionForm({ text, options }: TextQuestion): ElicitRequestFormParams {
  const choices = options && { enum: [...new Set(options)] };
  return {
    mode: "form",
    message: shown(text || "The agent is waiting for your answer."),
    requestedSchema: {
      type: "object",
      properties: { answer: { type: "string", title: "Answer", ...choices } },
      required: ["answer"],
    },
  };
}

const MAX_SHOWN = 4000;

function doneForm(text: string): ElicitRequestFormParams {
  return {
    mode: "form",
    message: `${oneLine(text || "The agent is waiting for authorization.", MAX_SHOWN)} Is it done?`,
    requestedSchema: {
      type: "object",
      properties: { done: { type: "boolean", title: "Done, continue", default: true } },
    },
  };
}

function shown(text: string): string {
  const clean = printable(text);
  return clean.length <= MAX_SHOWN ? clean : `${clean.slice(0, MAX_SHOWN - 1)}…`;
}

/** Without `edit`: a form cannot edit arguments; `convoke approvals answer --edit` can. */
const CHOICES: Readonly<Record<Exclude<ApprovalOption, "edit">, string>> = {
  once: "Approve this once",
  conversation: "Approve for the rest of this conversation",
  always: "Approve from now on",
  reject: "Reject",
};

/** Longer texts are not decided in a form, because nobody would read them. */
const MAX_APPROVAL = 20_000;

/** The form for the decision, or `undefined` if it could not show everything. */
export function approvalForm(approval: Approval): ElicitRequestFormParams | undefined {
  const message = approvalText(approval);
  const choices = choicesOf(approval);
  if (message.length > MAX_APPROVAL || choices.length === 0) return undefined;
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
          description: "The agent receives it.",
        },
      },
      required: ["decision"],
    },
  };
}

/** What the user must see to decide: the tool, its arguments, and the risk. */
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

/** The decision in a submitted form. Declining the form rejects the call; closing it decides nothing. */
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
