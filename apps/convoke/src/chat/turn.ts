import type { Answer, FollowOptions, Run } from "@convoke/client";
import { type PublicEvent, type Task, isInterrupted } from "@convoke/protocol";
import type { CommandContext } from "../terminal/command.ts";
import { outcomeOf } from "../follow/outcome.ts";
import { reconnectOf } from "../connect/agent-options.ts";
import { StreamPrinter } from "../follow/stream-printer.ts";

export interface TurnOptions {
  readonly open: (options: FollowOptions) => Run;
  readonly context: CommandContext;
  /** Whether it is about a task of which everything so far was seen. */
  readonly isAnswer: boolean;
  /** Whether nothing is said, so that a task that waits already is all there is to see. */
  readonly isLook: boolean;
}

/** One answer of the agent, shown as it comes, that can be canceled or left. */
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
      ...reconnectOf(context),
      onNotice: ({ message, ...more }) => {
        if (!("attempt" in more) || more.attempt === 1) this.#printer?.note(message);
      },
    });
  }

  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  /** Shows the answer until the agent has done its part. */
  async follow(): Promise<Answer> {
    try {
      for await (const event of this.#run) {
        this.#printer?.show(event);
        if (this.#isQuestion(event)) break;
      }
      const answer = await this.#run.result;
      this.#printer?.finish(answer.task && outcomeOf(answer.task));
      return answer;
    } catch (error) {
      this.#printer?.endLineOnScreen();
      throw error;
    }
  }

  /** Has the agent stop; the answer then ends as the agent says. */
  async cancel(): Promise<Task | undefined> {
    this.#isCanceled = true;
    this.#printer?.note("Canceling. Ctrl+C again leaves.");
    return this.#run.cancel();
  }

  /** Stops reading; the task goes on. */
  leave(): void {
    this.#abort.abort(new Error("the person left"));
  }

  /** An agent that waits for an authorization keeps its stream open; the person should hear of it now. */
  #isQuestion(event: PublicEvent): boolean {
    if (event.kind !== "status-update" && !(this.#isLook && event.kind === "task")) return false;
    return isInterrupted(event.status.state);
  }
}
