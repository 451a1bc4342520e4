import type { Connection } from "../connection/connection.ts";
import type { Input } from "../message-of.ts";
import type { EventSource, Followed } from "../run/event-source.ts";
import { type FollowOptions, settingsOf } from "../run/follow-options.ts";
import type { Question } from "../run/question.ts";
import { Run } from "../run/run.ts";
import { type ConversationState, readState } from "./conversation-state.ts";
import { Exchange, type ExchangeStep } from "./exchange.ts";

/** Answers a question, or leaves it open. */
export type Answering = (question: Question) => Input | undefined | Promise<Input | undefined>;

export interface ConversationOptions extends FollowOptions {
  /** Goes on with a conversation that was kept as `conversation.state`. */
  readonly state?: ConversationState | undefined;
  /** Goes on with what was said in this context. */
  readonly contextId?: string | undefined;
  /** Answers what the agent asks. Without an answer the run ends, with `answer.question`. */
  readonly onQuestion?: Answering | undefined;
  /**
   * The agent waits until something is authorized. What is returned is said to it;
   * otherwise the run goes on for as long as the agent keeps its stream open.
   */
  readonly onAuthRequired?: Answering | undefined;
  /** Is asked before the others, for answers that need nobody: tools of the caller. */
  readonly answerFirst?: Answering | undefined;
}

/**
 * A conversation with an agent: what is said belongs to one context, an answer
 * goes to the task that asked, and a new word refers to the task before it.
 */
export class Conversation {
  readonly #connection: Connection;
  readonly #options: ConversationOptions;
  #state: ConversationState;

  constructor(connection: Connection, options: ConversationOptions) {
    const { state = {}, contextId } = options;
    this.#connection = connection;
    this.#options = options;
    this.#state = readState({ ...state, ...(contextId !== undefined && { contextId }) });
  }

  /** Where it stands: keep it as JSON, and go on with `remote.conversation({ state })`. */
  get state(): ConversationState {
    return this.#state;
  }

  /** Says something. The run has the whole exchange, with every question that was answered. */
  say(input: Input, options: FollowOptions = {}): Run {
    const { onNotice } = settingsOf({ ...this.#options, ...options });
    const signal = options.signal ?? this.#options.signal;
    const source = new AnsweringSource(this.#exchange(input, options), this.#options);
    return new Run({ connection: this.#connection, source, signal, onNotice });
  }

  /**
   * Says something and gives what happens step by step: events, and questions to
   * answer with `question.answer(…)` before the next step.
   */
  exchange(
    input: Input,
    options: FollowOptions = {},
  ): AsyncGenerator<ExchangeStep, void, undefined> {
    const signal = options.signal ?? this.#options.signal ?? new AbortController().signal;
    return this.#exchange(input, options).steps(signal);
  }

  #exchange(input: Input, options: FollowOptions): Exchange {
    return new Exchange({
      connection: this.#connection,
      settings: settingsOf({ ...this.#options, ...options }),
      input,
      state: this.#state,
      onState: (state) => {
        this.#state = state;
      },
    });
  }
}

/** The events of an exchange whose questions are answered by callbacks. */
class AnsweringSource implements EventSource {
  readonly #exchange: Exchange;
  readonly #options: ConversationOptions;

  constructor(exchange: Exchange, options: ConversationOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  get fold(): Exchange["fold"] {
    return this.#exchange.fold;
  }

  get lastEventId(): string | undefined {
    return this.#exchange.lastEventId;
  }

  async *read(signal: AbortSignal): AsyncGenerator<Followed, void, undefined> {
    const { answerFirst, onQuestion, onAuthRequired } = this.#options;
    for await (const step of this.#exchange.steps(signal)) {
      if (step.kind === "event") {
        yield { event: step.event, id: step.id };
        continue;
      }
      const { question } = step;
      const ask = question.kind === "auth-required" ? onAuthRequired : onQuestion;
      const answered = (async () => (await answerFirst?.(question)) ?? (await ask?.(question)))();
      const input = await unlessAborted(answered, signal);
      if (input !== undefined) question.answer(input);
    }
  }
}

/** Whoever answers may take for ever; whoever wants to leave need not wait for that. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
