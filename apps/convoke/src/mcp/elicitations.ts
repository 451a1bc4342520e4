import {
  type ElicitRequestFormParams,
  type InputRequest,
  type InputRequests,
  inputRequired,
} from "@modelcontextprotocol/server";
import { oneLine, printable } from "@convoke/protocol/internal";
import { approvalForm } from "./approval-form.ts";
import type { Asked, AskedWords } from "./asked.ts";
import type { Host } from "./host.ts";

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
