import {
  type Connection,
  type Message,
  type PublicEvent,
  RemoteError,
  type Task,
  isInterrupted,
} from "@convoke/protocol";
import { type ToolRuns, pendingToolUses, withTools } from "./client-tools.ts";
import { type Input, type RequestOptions, requestFields, toMessage } from "./message.ts";
import {
  type RunRequest,
  type StreamedEvent,
  type TaskEventSource,
  TaskSnapshot,
} from "../run/task-events.ts";
import type { FollowSettings } from "../run/follow-options.ts";
import { type Question, toQuestion } from "../run/answer.ts";
import { ResumingSource } from "../run/resuming-source.ts";
import { orAborted } from "@convoke/protocol/internal";

/** A question that can be answered. */
export interface OpenQuestion extends Question {
  /** Answers it before the next step is requested. Without an answer the exchange ends here. */
  answer(input: Input): void;
}

/** One step of an exchange. */
export type ExchangeStep =
  | { readonly kind: "event"; readonly event: PublicEvent; readonly id: string }
  | { readonly kind: "question"; readonly question: OpenQuestion };

export interface ExchangeOptions {
  readonly connection: Connection;
  readonly settings: FollowSettings;
  /** A message to send, or the id of a task to continue. */
  readonly start: { readonly input: Input } | { readonly taskId: string };
  /** Sent with every message of the exchange. */
  readonly request: RequestOptions;
  readonly state: ConversationState;
  readonly onState: (state: ConversationState) => void;
  /** The tools that the agent may call. */
  readonly tools?: ToolRuns | undefined;
}

type Events = AsyncGenerator<StreamedEvent, void, undefined>;

/** A message and everything that follows from it: the turns of a task, with the answers in between. */
export class Exchange {
  readonly snapshot: TaskSnapshot;
  readonly #options: ExchangeOptions;
  #state: ConversationState;
  #source: TaskEventSource | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#state = options.state;
    this.snapshot = new TaskSnapshot();
  }

  get lastEventId(): string | undefined {
    return this.#source?.lastEventId;
  }

  async *steps(signal: AbortSignal): AsyncGenerator<ExchangeStep, void, undefined> {
    const { start } = this.#options;
    let events: Events | undefined =
      "input" in start ? this.#turn(start.input, signal) : this.#continueTask(start.taskId, signal);
    while (events !== undefined) {
      let next: Events | undefined;
      for await (const { event, id } of events) {
        yield { kind: "event", event, id };
        // The agent may continue by itself once it is authorized, so the stream stays open meanwhile.
        if (!isAuthRequired(event)) continue;
        next = yield* this.#ask(signal);
        if (next !== undefined) break;
      }
      if (next === undefined && this.snapshot.task?.status.state === "input-required") {
        next = yield* this.#ask(signal);
      }
      events = next;
    }
  }

  async *#turn(input: Input, signal: AbortSignal): Events {
    const { tools } = this.#options;
    const context = messageContext(this.#state);
    const refers = typeof input === "object" && "kind" in input && input.referenceTaskIds;
    const plain = toMessage(input, refers ? { ...context, referenceTaskIds: undefined } : context);
    const message = tools === undefined ? plain : withTools(plain, tools.tools);
    const request = { message, blocking: true, ...requestFields(this.#options.request) };
    yield* this.#follow({ kind: "stream", request }, signal);
  }

  /** Sends the results of tools and follows the task. */
  async *#resultsTurn(input: Input, answered: Task, signal: AbortSignal): Events {
    try {
      yield* this.#turn(input, signal);
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      // The task may have continued without them: it timed out, or it was canceled.
      const task = await this.#get(answered.id, signal);
      const waits = new Set(pendingToolUses(task).map(({ toolUseId }) => toolUseId));
      if (pendingToolUses(answered).some(({ toolUseId }) => waits.has(toolUseId))) throw error;
      yield* this.#continueFrom(task, signal);
    }
  }

  async *#continueTask(taskId: string, signal: AbortSignal): Events {
    yield* this.#continueFrom(await this.#get(taskId, signal), signal);
  }

  /** The current task and, unless it is done, its further events up to the next question. */
  async *#continueFrom(task: Task, signal: AbortSignal): Events {
    const { id: taskId, contextId, status } = task;
    yield this.#record({ event: task, id: "" });
    if (status.state === "auth-required") {
      // As a status update, because `steps` looks for questions there.
      const question = { kind: "status-update", taskId, contextId, status, final: false } as const;
      yield this.#record({ event: question, id: "" });
    } else if (this.snapshot.isAtRest) return;
    for await (const streamed of this.#follow({ kind: "subscribe", taskId }, signal)) {
      yield streamed;
      if (this.snapshot.task?.status.state === "input-required") return;
    }
  }

  #get(taskId: string, signal: AbortSignal): Promise<Task> {
    const { connection, settings } = this.#options;
    return connection.call("getTask", { taskId }, { signal, context: settings.context });
  }

  async *#follow(wanted: RunRequest, signal: AbortSignal): Events {
    const { connection, settings } = this.#options;
    this.#source = new ResumingSource(connection, wanted, settings);
    for await (const streamed of this.#source.read(signal)) yield this.#record(streamed);
  }

  #record(streamed: StreamedEvent): StreamedEvent {
    this.snapshot.add(streamed.event);
    this.#state = stateAfter(this.#state, this.snapshot.answer);
    this.#options.onState(this.#state);
    return streamed;
  }

  /** The events after a question was answered; `undefined` if it was not. Tools answer before callbacks. */
  async *#ask(signal: AbortSignal): AsyncGenerator<ExchangeStep, Events | undefined, undefined> {
    const { task } = this.snapshot;
    if (task === undefined) return undefined;
    const results = this.#options.tools?.answer(task, signal);
    const toolResults = results && (await orAborted(results, signal));
    if (toolResults !== undefined) return this.#resultsTurn(toolResults, task, signal);
    let given: Input | undefined;
    const answer = (input: Input): void => {
      if (given !== undefined) throw new Error("the question has already been answered");
      given = input;
    };
    yield { kind: "question", question: { ...toQuestion(task), answer } };
    return given === undefined ? undefined : this.#turn(given, signal);
  }
}

function isAuthRequired(event: PublicEvent): boolean {
  return event.kind === "status-update" && event.status.state === "auth-required";
}

/** The state of a conversation as JSON: save it, and continue in another process. */
export interface ConversationState {
  readonly contextId?: string;
  /** The task that waits for an answer; the next message goes to it. */
  readonly taskId?: string;
  /** The previous task; the next message refers to it. */
  readonly lastTaskId?: string;
}

/** The state of the conversation after an answer, or a part of one. */
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

/** The ids that tie the next message to the conversation (0.3 §7.1, 1.0 §3.4). */
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

/** Rejects a state that did not come from `conversation.state`, before anything is sent. */
export function checkState(state: ConversationState): ConversationState {
  for (const field of ["contextId", "taskId", "lastTaskId"] as const) {
    const value: unknown = state[field];
    if (value === undefined || (typeof value === "string" && value !== "")) continue;
    throw new TypeError(
      `state.${field} must be the id of ${field === "contextId" ? "a context" : "a task"}; ` +
        "pass the value of conversation.state",
    );
  }
  return state;
}
