import {
  type Message,
  type PublicEvent,
  type Task,
  type TaskState,
  isInterrupted,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { oneLine, printable } from "@convoke/protocol/internal";
import { type Colours, coloursFor } from "../terminal/output.ts";
import { type CommandContext, exitCodeOf } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";

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

/** How far a stream has come. */
export class Progress {
  #outcome: Outcome | undefined;
  #isAnswered = false;

  /** Where the task stands; none while nothing came, and for an answer without a task. */
  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Whether the agent has done its part: it answered, ended the task, or waits for its caller. */
  get isAtRest(): boolean {
    const state = this.#outcome?.state;
    return this.#isAnswered || (state !== undefined && (isTerminal(state) || isInterrupted(state)));
  }

  see(event: PublicEvent): void {
    switch (event.kind) {
      case "task":
        this.#outcome = outcomeOf(event);
        return;
      case "status-update": {
        const { state, message } = event.status;
        this.#outcome = { taskId: event.taskId, state, said: wordsOf(message) };
        return;
      }
      case "artifact-update":
        // A resumed stream may begin in the middle.
        this.#outcome ??= { taskId: event.taskId, state: "working", said: "" };
        return;
      case "message":
        this.#isAnswered = true;
        return;
      default:
        event satisfies never;
    }
  }
}
