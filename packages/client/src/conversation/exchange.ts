import { type Connection, type PublicEvent, RemoteError, type Task } from "@convoke/protocol";
import { withTools } from "../client-tools/declare-tools.ts";
import { type ToolRuns, openUses } from "../client-tools/tool-runs.ts";
import { type Input, messageOf } from "../message-of.ts";
import type { EventSource, Followed } from "../run/event-source.ts";
import type { FollowSettings } from "../run/follow-options.ts";
import { type Question, questionOf } from "../run/question.ts";
import { ResilientSource } from "../run/resilient-source.ts";
import { TaskFold } from "../run/task-fold.ts";
import type { Wanted } from "../run/wanted.ts";
import { type ConversationState, placeIn, stateAfter } from "./conversation-state.ts";
import { unlessAborted } from "./unless-aborted.ts";

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
  /** What is said, or the id of a task that was left and is gone on with. */
  readonly begins: { readonly input: Input } | { readonly taskId: string };
  readonly state: ConversationState;
  readonly onState: (state: ConversationState) => void;
  /** What the agent may call here. */
  readonly tools?: ToolRuns | undefined;
}

type Events = AsyncGenerator<Followed, void, undefined>;

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
    const { begins } = this.#options;
    let events: Events | undefined =
      "input" in begins ? this.#turn(begins.input, signal) : this.#left(begins.taskId, signal);
    while (events !== undefined) {
      let next: Events | undefined;
      for await (const { event, id } of events) {
        yield { kind: "event", event, id };
        // The agent may go on by itself once it is authorized, so the stream stays open meanwhile.
        if (!isAuthRequired(event)) continue;
        next = yield* this.#ask(signal);
        if (next !== undefined) break;
      }
      if (next === undefined && this.fold.task?.status.state === "input-required") {
        next = yield* this.#ask(signal);
      }
      events = next;
    }
  }

  async *#turn(input: Input, signal: AbortSignal): Events {
    const { tools } = this.#options;
    const place = placeIn(this.#state);
    const refers = typeof input === "object" && "kind" in input && input.referenceTaskIds;
    const said = messageOf(input, refers ? { ...place, referenceTaskIds: undefined } : place);
    const message = tools === undefined ? said : withTools(said, tools.tools);
    yield* this.#follow({ kind: "stream", request: { message, blocking: true } }, signal);
  }

  /** The results of tools, and what comes of them. */
  async *#resultsTurn(input: Input, answered: Task, signal: AbortSignal): Events {
    try {
      yield* this.#turn(input, signal);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      // The task may have gone on without them: it waited too long, or somebody canceled it.
      const task = await this.#get(answered.id, signal);
      const waits = new Set(openUses(task).map(({ toolUseId }) => toolUseId));
      if (openUses(answered).some(({ toolUseId }) => waits.has(toolUseId))) throw error;
      yield* this.#goOnWith(task, signal);
    }
  }

  async *#left(taskId: string, signal: AbortSignal): Events {
    yield* this.#goOnWith(await this.#get(taskId, signal), signal);
  }

  /** A task as it is, and what comes next where it works or waits for a sign-in: up to its next question. */
  async *#goOnWith(task: Task, signal: AbortSignal): Events {
    const { id: taskId, contextId, status } = task;
    yield this.#take({ event: task, id: "" });
    if (status.state === "auth-required") {
      // In the form in which it is asked for, so that it is heard.
      const asked = { kind: "status-update", taskId, contextId, status, final: false } as const;
      yield this.#take({ event: asked, id: "" });
    } else if (this.fold.isAtRest) return;
    for await (const followed of this.#follow({ kind: "subscribe", taskId }, signal)) {
      yield followed;
      if (this.fold.task?.status.state === "input-required") return;
    }
  }

  #get(taskId: string, signal: AbortSignal): Promise<Task> {
    const { connection, settings } = this.#options;
    return connection.call("getTask", { taskId }, { signal, context: settings.context });
  }

  async *#follow(wanted: Wanted, signal: AbortSignal): Events {
    const { connection, settings } = this.#options;
    this.#source = new ResilientSource(connection, wanted, settings);
    for await (const followed of this.#source.read(signal)) yield this.#take(followed);
  }

  #take(followed: Followed): Followed {
    this.fold.add(followed.event);
    this.#state = stateAfter(this.#state, this.fold.answer);
    this.#options.onState(this.#state);
    return followed;
  }

  /** What comes of a question; nothing when nobody answers it. Tools answer before people. */
  async *#ask(signal: AbortSignal): AsyncGenerator<ExchangeStep, Events | undefined, undefined> {
    const { task } = this.fold;
    if (task === undefined) return undefined;
    const results = this.#options.tools?.answer(task, signal);
    const came = results && (await unlessAborted(results, signal));
    if (came !== undefined) return this.#resultsTurn(came, task, signal);
    let given: Input | undefined;
    const answer = (input: Input): void => {
      if (given !== undefined) throw new Error("the question was answered already");
      given = input;
    };
    yield { kind: "question", question: { ...questionOf(task), answer } };
    return given === undefined ? undefined : this.#turn(given, signal);
  }
}

function isAuthRequired(event: PublicEvent): boolean {
  return event.kind === "status-update" && event.status.state === "auth-required";
}
