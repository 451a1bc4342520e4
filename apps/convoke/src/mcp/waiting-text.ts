import { oneLine } from "@convoke/protocol/internal";
import { approvalText } from "./elicitations.ts";
import type { Asked } from "./questions.ts";

/** How a person speaks to the agent without this host. */
export interface Elsewhere {
  /** What to run to decide on an approval. */
  readonly decide: (approvalId: string) => string;
  /** What to run to answer a task. */
  readonly answer: (taskId: string) => string;
}

interface Place extends Elsewhere {
  readonly tool: string;
  readonly taskId: string;
}

/** What the agent waits for, and how to go on; for the host's model, which may tell its person. */
export function waitingWords(asked: readonly Asked[], place: Place): string {
  return asked.map((one) => wordsAbout(one, place)).join("\n\n");
}

function wordsAbout(one: Asked, { tool, taskId, decide, answer }: Place): string {
  const again = (what: string): string =>
    `call ${tool} again with taskId ${JSON.stringify(taskId)} and ${what}`;
  switch (one.kind) {
    case "approval":
      return [
        `The task waits for the decision of a person. ${approvalText(one.approval)}`,
        `It is not yours to make. To decide: ${decide(one.id)}`,
        `Then ${again("an empty message")} to get the result.`,
      ].join("\n");
    case "secret":
      return [
        `The agent asks for something secret: ${one.text}`,
        `It does not belong into this conversation. A person can answer: ${answer(taskId)}`,
        `Then ${again("an empty message")} to get the result.`,
      ].join("\n");
    case "sign-in":
      return [
        one.text || "The agent waits for an authorization.",
        ...(one.url === undefined ? [] : [`Address: ${oneLine(one.url, 2000)}`]),
        `When a person has done that, ${again('"done" as message')}.`,
      ].join("\n");
    case "words": {
      const { options = [], text } = one;
      const choice = options.length === 0 ? "" : `\nOptions: ${options.join(", ")}`;
      return `The agent asks: ${text}${choice}\nTo answer, ${again("the answer as message")}.`;
    }
    default:
      return one satisfies never;
  }
}
