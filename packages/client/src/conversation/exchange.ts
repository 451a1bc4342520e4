import {
  type Connection,
  type Message,
  type PublicEvent,
  RemoteError,
  type Task,
  isInterrupted,
} from "@convoke/protocol";
import { type ToolRuns, pendingToolUses, withTools } from "./client-tools.ts";
import { type Input, toMessage } from "./message.ts";
import {
  type TaskEventSource,
  type StreamedEvent,
  TaskSnapshot,
  type RunRequest,
} from "../run/task-events.ts";
import type { FollowSettings } from "../run/follow-options.ts";
import { type Question, toQuestion } from "../run/answer.ts";
import { ResumingSource } from "../run/resuming-source.ts";
import { orAborted } from "@convoke/protocol/internal";

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

type Events = AsyncGenerator<StreamedEvent, void, undefined>;

/** What is said and all that comes of it: the turns of a task, with the answers in between. */
export class Exchange {
  readonly fold: TaskSnapshot;
  readonly #options: ExchangeOptions;
  #state: ConversationState;
  #source: TaskEventSource | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#state = options.state;
    this.fold = new TaskSnapshot();
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
    const place = messageContext(this.#state);
    const refers = typeof input === "object" && "kind" in input && input.referenceTaskIds;
    const said = toMessage(input, refers ? { ...place, referenceTaskIds: undefined } : place);
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
      const waits = new Set(pendingToolUses(task).map(({ toolUseId }) => toolUseId));
      if (pendingToolUses(answered).some(({ toolUseId }) => waits.has(toolUseId))) throw error;
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

  async *#follow(wanted: RunRequest, signal: AbortSignal): Events {
    const { connection, settings } = this.#options;
    this.#source = new ResumingSource(connection, wanted, settings);
    for await (const followed of this.#source.read(signal)) yield this.#take(followed);
  }

  #take(followed: StreamedEvent): StreamedEvent {
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
    const came = results && (await orAborted(results, signal));
    if (came !== undefined) return this.#resultsTurn(came, task, signal);
    let given: Input | undefined;
    const answer = (input: Input): void => {
      if (given !== undefined) throw new Error("the question was answered already");
      given = input;
    };
    yield { kind: "question", question: { ...toQuestion(task), answer } };
    return given === undefined ? undefined : this.#turn(given, signal);
  }
}

function isAuthRequired(event: PublicEvent): boolean {
  return event.kind === "status-update" && event.status.state === "auth-required";
}

/** Where a conversation stands, as JSON: keep it, and go on with it in another process. */
export interface ConversationState {
  readonly contextId?: string;
  /** The task that waits for an answer; the next word goes to it. */
  readonly taskId?: string;
  /** The task that came before; the next word refers to it. */
  readonly lastTaskId?: string;
}

/** Where the conversation stands after an answer, or after a part of one. */
function stateAfter(
  before: ConversationState,
  answer: Task | Message | undefined,
): ConversationState {
  if (answer === undefined) return before;
  const contextId = answer.contextId ?? before.contextId;
  const lastTaskId = answer.kind === "task" ? answer.id : before.lastTaskId;
  const isWaiting = answer.kind === "task" && isInterrupted(answer.status.state);
  return {
    ...(contextId !== undefined && { contextId }),
    ...(isWaiting && { taskId: answer.id }),
    ...(lastTaskId !== undefined && { lastTaskId }),
  };
}

/** What the next message says about its place in the conversation (0.3 §7.1, 1.0 §3.4). */
function messageContext({ contextId, taskId, lastTaskId }: ConversationState): {
  readonly contextId?: string;
  readonly taskId?: string;
  readonly referenceTaskIds?: readonly string[];
} {
  if (taskId !== undefined) return { ...(contextId !== undefined && { contextId }), taskId };
  return {
    ...(contextId !== undefined && { contextId }),
    ...(lastTaskId !== undefined && { referenceTaskIds: [lastTaskId] }),
  };
}

/** Refuses what was not made by `conversation.state`, before it is sent to anybody. */
export function checkState(state: ConversationState): ConversationState {
  for (const field of ["contextId", "taskId", "lastTaskId"] as const) {
    const value: unknown = state[field];
    if (value === undefined || (typeof value === "string" && value !== "")) continue;
    throw new TypeError(
      `state.${field} must be the id of ${field === "contextId" ? "a context" : "a task"}; ` +
        "pass what conversation.state gave",
    );
  }
  return state;
}
