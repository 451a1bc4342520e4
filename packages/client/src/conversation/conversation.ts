import {
  type ClientTool,
  ToolRuns,
  checkTools,
  requireToolSupport,
  withToolsExtension,
} from "./client-tools.ts";
import type { Connection } from "@convoke/protocol";
import type { Input, RequestOptions } from "./message.ts";
import type { StreamedEvent, TaskEventSource } from "../run/task-events.ts";
import { type FollowOptions, type FollowSettings, followSettings } from "../run/follow-options.ts";
import type { Question } from "../run/answer.ts";
import { Run } from "../run/run.ts";
import {
  type ConversationState,
  Exchange,
  type ExchangeOptions,
  type ExchangeStep,
  checkState,
} from "./exchange.ts";
import { orAborted } from "@convoke/protocol/internal";

/** Answers a question; `undefined` leaves it open. */
export type AnswerQuestion = (question: Question) => Input | undefined | Promise<Input | undefined>;

/** Options of one exchange; those of the conversation apply to what they leave out. */
export interface ExchangeCallOptions extends RequestOptions, FollowOptions {}

export interface ConversationOptions extends ExchangeCallOptions {
  /** Continues a conversation that was saved as `conversation.state`. */
  readonly state?: ConversationState | undefined;
  /** Continues this context. */
  readonly contextId?: string | undefined;
  /** Answers the agent's questions. Without an answer the run ends with `answer.question`. */
  readonly onQuestion?: AnswerQuestion | undefined;
  /**
   * Called when the agent waits for an authorization. A returned value is sent to it; otherwise the
   * run continues for as long as the agent keeps its stream open.
   */
  readonly onAuthRequired?: AnswerQuestion | undefined;
  /** Called before the other callbacks, for answers that need no person. */
  readonly answerFirst?: AnswerQuestion | undefined;
  /**
   * Tools that run in this process when the agent calls them, for what it cannot reach itself. Each
   * call runs once, the calls of one question concurrently; other questions go to the callbacks above.
   */
  readonly tools?: readonly ClientTool[] | undefined;
}

/**
 * A conversation with an agent: all messages belong to one context, an answer goes to the task that
 * asked, and a new message refers to the previous task.
 */
export class Conversation {
  readonly #connection: Connection;
  readonly #options: ConversationOptions;
  readonly #tools: ToolRuns | undefined;
  #state: ConversationState;

  /** Throws if there are tools and the agent does not support tools of its callers. */
  constructor(connection: Connection, options: ConversationOptions) {
    const { state = {}, contextId, tools = [] } = options;
    this.#connection = connection;
    this.#options = options;
    checkTools(tools);
    if (tools.length > 0) requireToolSupport(connection.card, connection.selectedInterface.url);
    this.#tools = tools.length === 0 ? undefined : new ToolRuns(tools);
    this.#state = checkState({ ...state, ...(contextId !== undefined && { contextId }) });
  }

  /** Save it as JSON and continue with `remote.conversation({ state })`. */
  get state(): ConversationState {
    return this.#state;
  }

  /** Sends a message. The run covers the whole exchange, including every question that was answered. */
  say(input: Input, options: ExchangeCallOptions = {}): Run {
    return this.#run({ input }, options);
  }

  /**
   * Continues the last task, for example after a restart: runs the tools that it waits for, answers
   * its questions, and follows it to the end.
   */
  resume(options: ExchangeCallOptions = {}): Run {
    const { taskId, lastTaskId } = this.#state;
    const left = taskId ?? lastTaskId;
    if (left === undefined) {
      throw new Error(
        "there is no task to continue: send a message first, or pass the state of a conversation",
      );
    }
    return this.#run({ taskId: left }, options);
  }

  /**
   * Sends a message and yields what happens step by step: events, and questions to answer with
   * `question.answer(…)` before the next step.
   */
  exchange(
    input: Input,
    options: ExchangeCallOptions = {},
  ): AsyncGenerator<ExchangeStep, void, undefined> {
    const signal = options.signal ?? this.#options.signal ?? new AbortController().signal;
    return this.#exchange({ input }, options).steps(signal);
  }

  #run(start: ExchangeOptions["start"], options: ExchangeCallOptions): Run {
    const signal = options.signal ?? this.#options.signal;
    const source = new AnsweringSource(this.#exchange(start, options), this.#options);
    return new Run({ connection: this.#connection, source, signal });
  }

  #settings(options: FollowOptions): FollowSettings {
    const both = { ...this.#options, ...options };
    if (this.#tools === undefined) return followSettings(both);
    return followSettings({ ...both, extensions: withToolsExtension(both.extensions) });
  }

  #exchange(start: ExchangeOptions["start"], options: ExchangeCallOptions): Exchange {
    return new Exchange({
      connection: this.#connection,
      settings: this.#settings(options),
      request: { ...this.#options, ...options },
      start,
      tools: this.#tools,
      state: this.#state,
      onState: (state) => {
        this.#state = state;
      },
    });
  }
}

/** The events of an exchange whose questions are answered by callbacks. */
class AnsweringSource implements TaskEventSource {
  readonly #exchange: Exchange;
  readonly #options: ConversationOptions;

  constructor(exchange: Exchange, options: ConversationOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  get snapshot(): Exchange["snapshot"] {
    return this.#exchange.snapshot;
  }

  get lastEventId(): string | undefined {
    return this.#exchange.lastEventId;
  }

  async *read(signal: AbortSignal): AsyncGenerator<StreamedEvent, void, undefined> {
    const { answerFirst, onQuestion, onAuthRequired } = this.#options;
    for await (const step of this.#exchange.steps(signal)) {
      if (step.kind === "event") {
        yield { event: step.event, id: step.id };
        continue;
      }
      const { question } = step;
      const ask = question.kind === "auth-required" ? onAuthRequired : onQuestion;
      const answered = (async () => (await answerFirst?.(question)) ?? (await ask?.(question)))();
      const input = await orAborted(answered, signal);
      if (input !== undefined) question.answer(input);
    }
  }
}
