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
import { type CommandContext, exitCodeFor } from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { textField } from "../terminal/json-fields.ts";

/** The last known state of a task. */
export interface Outcome {
  readonly taskId: string;
  readonly state: TaskState;
  /** The status message of the agent: a question, a reason, a result. */
  readonly said: string;
  /** The name of the credential that the agent asks for; absent if it asks for none. */
  readonly credential?: string | undefined;
}

export function toOutcome({ id, status }: Pick<Task, "id" | "status">): Outcome {
  const { state, message } = status;
  return { taskId: id, state, said: messageText(message), credential: credentialIn(message) };
}

/** The name of the credential that a question of a Convoke agent asks for. */
export function credentialIn(message: Message | undefined): string | undefined {
  const named = (message?.parts ?? []).map((part) =>
    part.kind === "data" ? textField(part.data, "credential") : "",
  );
  return named.find((name) => name !== "");
}

export function messageText(message: Message | undefined): string {
  return message === undefined ? "" : textOfParts(message.parts);
}

/** The first message of the caller, or else the status message. */
export function firstWords({ history, status }: Task): string {
  const asked = history?.find(({ role }) => role === "user");
  return asked === undefined ? messageText(status.message) : textOfParts(asked.parts);
}

/** Prints the state of the task and the command to run next. Returns the exit code. */
export function reportOutcome(outcome: Outcome, context: CommandContext): number {
  const { io } = context;
  const colours = coloursFor(io, "stderr");
  for (const line of linesOf(outcome, context, colours)) io.stderr(`${line}\n`);
  return exitCodeFor(outcome.state);
}

function linesOf(
  { taskId, state, said, credential }: Outcome,
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
        bold(printable(said || "The agent is waiting for your answer.")),
        `Answer with: ${next("send", "--task", taskId, "your answer")}`,
      ];
    case "auth-required":
      return [
        dim(head),
        yellow(printable(said || "The agent is waiting for authorization.")),
        credential === undefined
          ? `Once that is done: ${next("send", "--task", taskId, "done")}`
          : `Send it on standard input: ${next("send", "--task", taskId, "-")}`,
      ];
    case "completed":
      return [dim(head)];
    default:
      return [dim(headWithWords), `Follow it with: ${next("stream", "--resume", taskId)}`];
  }
}

/** The progress of a stream. */
export class Progress {
  #outcome: Outcome | undefined;
  #isAnswered = false;

  /** The last known state, or `undefined` before the first event and for a response without a task. */
  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** Whether the agent has answered, finished the task, or is waiting for the caller. */
  get isAtRest(): boolean {
    const state = this.#outcome?.state;
    return this.#isAnswered || (state !== undefined && (isTerminal(state) || isInterrupted(state)));
  }

  see(event: PublicEvent): void {
    switch (event.kind) {
      case "task":
        this.#outcome = toOutcome(event);
        return;
      case "status-update":
        this.#outcome = toOutcome({ id: event.taskId, status: event.status });
        return;
      case "artifact-update":
        // A resumed stream may start with an artifact.
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
