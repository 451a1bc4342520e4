import { type A2APart, EXTENSIONS, textPart } from "@convoke/protocol";
import { approvalDecision } from "./approval-form.ts";
import type { Asked } from "./asked.ts";
import type { Responses } from "./host.ts";

interface Response {
  /** `accept`, `decline` or `cancel`; whatever else counts as the last. */
  readonly action: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** What a person answered, for the agent; nothing where they left it open. */
export function answerParts(
  asked: readonly Asked[],
  responses: Responses,
  wasVisited: boolean,
): readonly A2APart[] {
  return asked.flatMap((one): readonly A2APart[] => {
    const { action, content } = responseOf(responses[one.id]);
    switch (one.kind) {
      case "approval": {
        const data = approvalDecision(one.approval, action, content);
        const metadata = { [EXTENSIONS.approvals.uri]: { type: "approval-answer" } };
        return data === undefined ? [] : [{ kind: "data", data, metadata }];
      }
      case "words": {
        const { answer } = content;
        return action === "accept" && typeof answer === "string" ? [wordsFor(one, answer)] : [];
      }
      case "sign-in": {
        const isDone = action === "accept" && content["done"] !== false;
        return isDone && (wasVisited || one.url === undefined) ? [wordsFor(one, "done")] : [];
      }
      case "secret":
        return [];
      default:
        return one satisfies never;
    }
  });
}

/** Whether a person opened the address that they were sent to, so that what is left is whether it is done. */
export function hasVisited(asked: readonly Asked[], responses: Responses): boolean {
  return asked.some(
    (one) =>
      one.kind === "sign-in" &&
      one.url !== undefined &&
      responseOf(responses[one.id]).action === "accept",
  );
}

/** A question with an id is answered by it, so that others stay open. */
function wordsFor(
  { requestId }: { readonly requestId?: string | undefined },
  text: string,
): A2APart {
  return requestId === undefined
    ? textPart(text)
    : { kind: "data", data: { requestId, value: text } };
}

function responseOf(response: unknown): Response {
  const { action, content } = fieldsOf(response);
  return { action: typeof action === "string" ? action : "cancel", content: fieldsOf(content) };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
