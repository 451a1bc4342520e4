import type { Answer, FollowOptions, Run } from "@convoke/client";
import { type PublicEvent, type Task, isInterrupted } from "@convoke/protocol";
import type { CommandContext } from "../terminal/command.ts";
import { toOutcome } from "../follow/outcome.ts";
import { readReconnect } from "../connect/agent-options.ts";
import { StreamPrinter } from "../follow/stream-printer.ts";

export interface TurnOptions {
  readonly open: (options: FollowOptions) => Run;
  readonly context: CommandContext;
  /** Whether it continues a task whose output so far was already printed. */
  readonly isAnswer: boolean;
  /** Whether no message is sent, so that a task that is already waiting ends the turn. */
  readonly isLook: boolean;
}

/** One answer of the agent, printed as it arrives. It can be canceled or abandoned. */
export class Turn {
  readonly #run: Run;
  readonly #printer: StreamPrinter | undefined;
  readonly #abort = new AbortController();
  readonly #isLook: boolean;
  #isCanceled = false;

  constructor({ open, context, isAnswer, isLook }: TurnOptions) {
    const { io } = context;
    this.#isLook = isLook;
    this.#printer = context.flag("json")
      ? undefined
      : new StreamPrinter(io, { skipEarlier: isAnswer, isQuiet: true });
    this.#run = open({
      signal: AbortSignal.any([io.signal, this.#abort.signal]),
      ...readReconnect(context),
      onNotice: ({ message, ...more }) => {
        if (!("attempt" in more) || more.attempt === 1) this.#printer?.note(message);
      },
    });
  }

  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  /** Prints the answer until the task is finished or interrupted. */
  async follow(): Promise<Answer> {
    try {
      for await (const event of this.#run) {
        this.#printer?.show(event);
        if (this.#isQuestion(event)) break;
      }
      const answer = await this.#run.result;
      this.#printer?.finish(answer.task && toOutcome(answer.task));
      return answer;
    } catch (error) {
      this.#printer?.endLineOnScreen();
      throw error;
    }
  }

  /** Asks the agent to cancel; the turn then ends with the state that the agent reports. */
  async cancel(): Promise<Task | undefined> {
    this.#isCanceled = true;
    this.#printer?.note("Canceling. Press Ctrl+C again to leave.");
    return this.#run.cancel();
  }

  /** Stops reading; the task continues. */
  leave(): void {
    this.#abort.abort(new Error("the person left"));
  }

  /** An agent that waits for authorization keeps its stream open, but the user should know now. */
  #isQuestion(event: PublicEvent): boolean {
    if (event.kind !== "status-update" && !(this.#isLook && event.kind === "task")) return false;
    return isInterrupted(event.status.state);
  }
}
