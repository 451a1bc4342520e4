import {
  type ElicitRequestFormParams,
  type InputRequest,
  type InputRequests,
  inputRequired,
} from "@modelcontextprotocol/server";
import { oneLine, printable } from "@convoke/protocol/internal";
import type { Asked, AskedWords } from "./questions.ts";
import type { Host } from "./host.ts";
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalOption,
  approvalPath,
} from "@convoke/protocol";

const MAX_SHOWN = 4000;

/** What a host is to ask a person. It is empty where the host cannot, or must not. */
export function elicitations(
  asked: readonly Asked[],
  host: Host,
  wasVisited: boolean,
): InputRequests {
  const requests = asked.flatMap((one): readonly (readonly [string, InputRequest])[] => {
    const request = elicitation(one, host, wasVisited);
    return request === undefined ? [] : [[one.id, request]];
  });
  return Object.fromEntries(requests);
}

function elicitation(one: Asked, host: Host, wasVisited: boolean): InputRequest | undefined {
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
    // MCP forbids to ask for secrets by a form, because the host may show them to its model.
    case "secret":
      return undefined;
    default:
      return one satisfies never;
  }
}

function byForm(host: Host, form: ElicitRequestFormParams | undefined): InputRequest | undefined {
  return host.fillsForms && form !== undefined ? inputRequired.elicit(form) : undefined;
}

function questionForm({ text, options }: AskedWords): ElicitRequestFormParams {
  const choices = options && { enum: [...new Set(options)] };
  return {
    mode: "form",
    message: shown(text || "The agent waits for your answer."),
    requestedSchema: {
      type: "object",
      properties: { answer: { type: "string", title: "Answer", ...choices } },
      required: ["answer"],
    },
  };
}

function doneForm(text: string): ElicitRequestFormParams {
  return {
    mode: "form",
    message: `${oneLine(text || "The agent waits for an authorization.", MAX_SHOWN)} Is it done?`,
    requestedSchema: {
      type: "object",
      properties: { done: { type: "boolean", title: "It is done; go on", default: true } },
    },
  };
}

function shown(text: string): string {
  const clean = printable(text);
  return clean.length <= MAX_SHOWN ? clean : `${clean.slice(0, MAX_SHOWN - 1)}…`;
}

/** Other arguments are more than a form can hold; `convoke approvals answer --edit` has them. */
const CHOICES: Readonly<Record<Exclude<ApprovalOption, "edit">, string>> = {
  once: "Approve this once",
  conversation: "Approve for the rest of this conversation",
  always: "Approve from now on",
  reject: "Reject",
};

/** What would be too long to be read is not decided in a form. */
const MAX_APPROVAL = 20_000;

/** The form by which a person decides, or nothing where it could not show everything. */
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
