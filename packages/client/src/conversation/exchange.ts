import type { PublicEvent } from "@convoke/protocol";
import type { Connection } from "../connection/connection.ts";
import { type Input, messageOf } from "../message-of.ts";
import type { EventSource, Followed } from "../run/event-source.ts";
import type { FollowSettings } from "../run/follow-options.ts";
import { type Question, questionOf } from "../run/question.ts";
import { ResilientSource } from "../run/resilient-source.ts";
import { TaskFold } from "../run/task-fold.ts";
import { type ConversationState, placeIn, stateAfter } from "./conversation-state.ts";

/** A question that can be answered. */
export interface OpenQuestion extends Question {
  /** Answers it; the exchange goes on with the next step. Without an answer it ends here. */
  answer(input: Input): void;
}

/** One thing that happens in an exchange. */
export type ExchangeStep =
  | { readonly kind: "event"; readonly event: PublicEvent; readonly id: string }
  | { readonly kind: "question"; readonly question: OpenQuestion };

export interface ExchangeOptions {
  readonly connection: Connection;
  readonly settings: FollowSettings;
  readonly input: Input;
  readonly state: ConversationState;
  readonly onState: (state: ConversationState) => void;
}

/** What is said and all that comes of it: the turns of a task, with the answers in between. */
export class Exchange {
  readonly fold: TaskFold;
  readonly #options: ExchangeOptions;
  #state: ConversationState;
  #source: EventSource | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#state = options.state;
    this.fold = new TaskFold();
  }

  get lastEventId(): string | undefined {
    return this.#source?.lastEventId;
  }

  async *steps(signal: AbortSignal): AsyncGenerator<ExchangeStep, void, undefined> {
    let next: Input | undefined = this.#options.input;
    while (next !== undefined) {
      const input: Input = next;
      next = undefined;
      for await (const { event, id } of this.#turn(input, signal)) {
        yield { kind: "event", event, id };
        // The agent may go on by itself once it is authorized, so the stream stays open meanwhile.
        if (!isAuthRequired(event)) continue;
        next = yield* this.#ask();
        if (next !== undefined) break;
      }
      if (next === undefined && this.fold.task?.status.state === "input-required") {
        next = yield* this.#ask();
      }
    }
  }

  async *#turn(input: Input, signal: AbortSignal): AsyncGenerator<Followed, void, undefined> {
    const { connection, settings, onState } = this.#options;
    const place = placeIn(this.#state);
    const refers = typeof input === "object" && "kind" in input && input.referenceTaskIds;
    const message = messageOf(input, refers ? { ...place, referenceTaskIds: undefined } : place);
    const request = { message, blocking: true };
    this.#source = new ResilientSource(connection, { kind: "stream", request }, settings);
    for await (const followed of this.#source.read(signal)) {
      this.fold.add(followed.event);
      this.#state = stateAfter(this.#state, this.fold.answer);
      onState(this.#state);
      yield followed;
    }
  }

  async *#ask(): AsyncGenerator<ExchangeStep, Input | undefined, undefined> {
    const { task } = this.fold;
    if (task === undefined) return undefined;
    let given: Input | undefined;
    const answer = (input: Input): void => {
      if (given !== undefined) throw new Error("the question was answered already");
      given = input;
    };
    yield { kind: "question", question: { ...questionOf(task), answer } };
    return given;
  }
}

function isAuthRequired(event: PublicEvent): boolean {
  return event.kind === "status-update" && event.status.state === "auth-required";
}
