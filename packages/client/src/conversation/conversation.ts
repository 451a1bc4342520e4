import {
  type ClientTool,
  ToolRuns,
  checkTools,
  requireToolSupport,
  withToolsExtension,
} from "./client-tools.ts";
import type { Connection } from "@convoke/protocol";
import type { Input } from "./message.ts";
import type { TaskEventSource, StreamedEvent } from "../run/task-events.ts";
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
  /** Is asked before the others, for answers that need nobody. */
  readonly answerFirst?: Answering | undefined;
  /**
   * Tools that run here when the agent calls them, for what it cannot reach itself. Each call runs
   * once, those of one question at the same time; what else is asked goes to the others above.
   */
  readonly tools?: readonly ClientTool[] | undefined;
}

/**
 * A conversation with an agent: what is said belongs to one context, an answer
 * goes to the task that asked, and a new word refers to the task before it.
 */
export class Conversation {
  readonly #connection: Connection;
  readonly #options: ConversationOptions;
  readonly #tools: ToolRuns | undefined;
  #state: ConversationState;

  /** An agent that uses no tools of its callers is refused where there are some. */
  constructor(connection: Connection, options: ConversationOptions) {
    const { state = {}, contextId, tools = [] } = options;
    this.#connection = connection;
    this.#options = options;
    checkTools(tools);
    if (tools.length > 0) requireToolSupport(connection.card, connection.speaking.url);
    this.#tools = tools.length === 0 ? undefined : new ToolRuns(tools);
    this.#state = checkState({ ...state, ...(contextId !== undefined && { contextId }) });
  }

  /** Where it stands: keep it as JSON, and go on with `remote.conversation({ state })`. */
  get state(): ConversationState {
    return this.#state;
  }

  /** Says something. The run has the whole exchange, with every question that was answered. */
  say(input: Input, options: FollowOptions = {}): Run {
    return this.#run({ input }, options);
  }

  /**
   * Goes on with the task that was left, such as by a process that ended: runs the tools that it
   * waits for, answers what it asks, and has everything that comes of it.
   */
  goOn(options: FollowOptions = {}): Run {
    const { taskId, lastTaskId } = this.#state;
    const left = taskId ?? lastTaskId;
    if (left === undefined) {
      throw new Error("there is no task to go on with: say something, or give the state of one");
    }
    return this.#run({ taskId: left }, options);
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
    return this.#exchange({ input }, this.#settings(options)).steps(signal);
  }

  #run(begins: ExchangeOptions["begins"], options: FollowOptions): Run {
    const settings = this.#settings(options);
    const { onNotice } = settings;
    const signal = options.signal ?? this.#options.signal;
    const source = new AnsweringSource(this.#exchange(begins, settings), this.#options);
    return new Run({ connection: this.#connection, source, signal, onNotice });
  }

  #settings(options: FollowOptions): FollowSettings {
    const both = { ...this.#options, ...options };
    if (this.#tools === undefined) return followSettings(both);
    return followSettings({ ...both, extensions: withToolsExtension(both.extensions) });
  }

  #exchange(begins: ExchangeOptions["begins"], settings: FollowSettings): Exchange {
    return new Exchange({
      connection: this.#connection,
      settings,
      begins,
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

  get snapshot(): Exchange["fold"] {
    return this.#exchange.fold;
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
