import { oneLine } from "@convoke/protocol/internal";
import { approvalText } from "./elicitations.ts";
import type { PendingRequest } from "./questions.ts";

/** Commands for the user to answer the agent without this host. */
export interface OtherCommands {
  /** What to run to decide on an approval. */
  readonly decide: (approvalId: string) => string;
  /** What to run to answer a task. */
  readonly answer: (taskId: string) => string;
}

interface WaitingTask extends OtherCommands {
  readonly tool: string;
  readonly taskId: string;
}

/** What the agent is waiting for and how to continue, for the model of the host, which may tell the user. */
export function waitingText(asked: readonly PendingRequest[], place: WaitingTask): string {
  return asked.map((one) => wordsAbout(one, place)).join("\n\n");
}

function wordsAbout(one: PendingRequest, { tool, taskId, decide, answer }: WaitingTask): string {
  const again = (what: string): string =>
    `call ${tool} again with taskId ${JSON.stringify(taskId)} and ${what}`;
  switch (one.kind) {
    case "approval":
      return [
        `The task is waiting for a decision by a person. ${approvalText(one.approval)}`,
        `You must not make this decision yourself. To decide, a person can run: ${decide(one.id)}`,
        `Then ${again("an empty message")} to get the result.`,
      ].join("\n");
    case "secret":
      return [
        `The agent asks for something secret: ${one.text}`,
        `Do not ask for it in this conversation. A person can answer with: ${answer(taskId)}`,
        `Then ${again("an empty message")} to get the result.`,
      ].join("\n");
    case "sign-in":
      return [
        one.text || "The agent is waiting for authorization.",
        ...(one.url === undefined ? [] : [`Address: ${oneLine(one.url, 2000)}`]),
        `Once a person has done that, ${again('"done" as message')}.`,
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
