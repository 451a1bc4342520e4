import type { Answer, FollowOptions, Run } from "@convoke/client";
import { type PublicEvent, type Task, isInterrupted } from "@convoke/protocol";
import { readReconnect } from "../connect/agent-options.ts";
import type { CommandContext } from "../terminal/command.ts";
import type { TurnView } from "./face.ts";
import type { ChatUsage } from "./usage.ts";

export interface TurnOptions {
  readonly open: (options: FollowOptions) => Run;
  readonly context: CommandContext;
  readonly view: TurnView;
  readonly usage: ChatUsage;
  /** Whether no message is sent, so that a task that is already waiting ends the turn. */
  readonly isLook: boolean;
}

/** One answer of the agent, shown as it arrives. It can be canceled or abandoned. */
export class Turn {
  readonly #run: Run;
  readonly #view: TurnView;
  readonly #usage: ChatUsage;
  readonly #abort = new AbortController();
  readonly #isLook: boolean;
  #isCanceled = false;

  constructor({ open, context, view, usage, isLook }: TurnOptions) {
    this.#isLook = isLook;
    this.#view = view;
    this.#usage = usage;
    this.#run = open({
      signal: AbortSignal.any([context.io.signal, this.#abort.signal]),
      ...readReconnect(context),
      onNotice: (notice) => view.notice(notice),
    });
  }

  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  /** Shows the answer until the task is finished or interrupted. */
  async follow(): Promise<Answer> {
    let answer: Answer | undefined;
    try {
      for await (const event of this.#run) {
        this.#usage.see(event);
        this.#view.show(event);
        if (this.#isQuestion(event)) break;
      }
      answer = await this.#run.result;
      return answer;
    } finally {
      this.#view.end(answer);
    }
  }

  /** Asks the agent to cancel; the turn then ends with the state that the agent reports. */
  async cancel(): Promise<Task | undefined> {
    this.#isCanceled = true;
    this.#view.canceling();
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
