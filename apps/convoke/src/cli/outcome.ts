import { type Message, type Task, type TaskState, textOfParts } from "@convoke/protocol";
import { oneLine, printable } from "@convoke/protocol/internal";
import { type Colours, coloursFor } from "./colours.ts";
import type { CommandContext } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { exitCodeOf } from "./exit-code.ts";

/** Where a task stood when we looked last. */
export interface Outcome {
  readonly taskId: string;
  readonly state: TaskState;
  /** What the agent says about it: a question, a reason, a last word. */
  readonly said: string;
}

export function outcomeOf({ id, status }: Task): Outcome {
  return { taskId: id, state: status.state, said: wordsOf(status.message) };
}

export function wordsOf(message: Message | undefined): string {
  return message === undefined ? "" : textOfParts(message.parts);
}

/** Tells a person how the task stands and what to type next, and gives the exit code. */
export function reportOutcome(outcome: Outcome, context: CommandContext): number {
  const { io } = context;
  const colours = coloursFor(io, "stderr");
  for (const line of linesOf(outcome, context, colours)) io.stderr(`${line}\n`);
  return exitCodeOf(outcome.state);
}

function linesOf(
  { taskId, state, said }: Outcome,
  context: CommandContext,
  { dim, bold, red, yellow }: Colours,
): readonly string[] {
  const head = `task ${oneLine(taskId)} ${state}`;
  const headWithWords = said === "" ? head : `${head}: ${oneLine(said)}`;
  const next = (command: string, ...args: string[]): string =>
    dim(commandLine(context, command, args));
  switch (state) {
    case "failed":
    case "rejected":
    case "canceled":
      return [red(headWithWords)];
    case "input-required":
      return [
        dim(head),
        bold(printable(said || "The agent waits for your answer.")),
        `Answer with: ${next("send", "--task", taskId, "your answer")}`,
      ];
    case "auth-required":
      return [
        dim(head),
        yellow(printable(said || "The agent waits for an authorization.")),
        `When that is done: ${next("send", "--task", taskId, "done")}`,
      ];
    case "completed":
      return [dim(head)];
    default:
      return [dim(headWithWords), `Follow it with: ${next("stream", "--resume", taskId)}`];
  }
}
