import { type PublicEvent, isInterrupted, isTerminal } from "@convoke/protocol";
import { type Outcome, outcomeOf, wordsOf } from "./outcome.ts";

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
