import {
  type Message,
  type PublicEvent,
  type SendMessageRequest,
  type Task,
  applyEvent,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";

/** An event and the id to resume after it; "" if the agent sends no ids. */
export interface StreamedEvent {
  readonly event: PublicEvent;
  readonly id: string;
}

/** The events of a run, across any number of connections. */
export interface TaskEventSource {
  /** The result of the events so far, including the one that was yielded last. */
  readonly snapshot: TaskSnapshot;
  /** The id that resumes after the last event. */
  readonly lastEventId: string | undefined;
  /** Can be read once. Nothing is requested before reading starts. */
  read(signal: AbortSignal): AsyncGenerator<StreamedEvent, void, undefined>;
  /**
   * Between two steps of `read`: the next event, if it has already arrived and needs no special
   * handling, which is the usual case in a long answer. It saves an await per event.
   */
  takeBuffered?(): StreamedEvent | undefined;
}

/** What a run asks the agent for. */
export type RunRequest =
  /** The answer to a message, streamed. */
  | { readonly kind: "stream"; readonly request: SendMessageRequest }
  /** The answer to a message in a single response; a blocking request waits until it is complete. */
  | { readonly kind: "call"; readonly request: SendMessageRequest }
  /** The events of an existing task until it ends, from its current state or after an event. */
  | {
      readonly kind: "subscribe";
      readonly taskId: string;
      readonly lastEventId?: string | undefined;
    };

/** The next step of a run. */
export type RunStep = "send" | "call" | "subscribe" | "poll" | "over";

/** What to do after an error. */
export interface RecoveryStep {
  readonly next: RunStep;
  /** The current task, if recovery had to fetch it. */
  readonly task?: Task;
}

/** The task, or message, that results from the events of a run. */
export class TaskSnapshot {
  #task: Task | undefined;
  #message: Message | undefined;
  #isPartial = false;
  #taskId: string | undefined;

  constructor(taskId?: string) {
    this.#taskId = taskId;
  }

  get task(): Task | undefined {
    return this.#task;
  }

  /** The task, or the message if the agent answered without a task. */
  get answer(): Task | Message | undefined {
    return this.#message ?? this.#task;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get contextId(): string | undefined {
    return this.#message?.contextId ?? this.#task?.contextId;
  }

  /** Whether the run started in the middle of the task, so that earlier events are missing. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Whether the agent is done for now: it replied, the task ended, or it waits for its caller. */
  get isAtRest(): boolean {
    if (this.#message !== undefined) return true;
    const state = this.#task?.status.state;
    return state !== undefined && (isTerminal(state) || isInterrupted(state));
  }

  add(event: PublicEvent): void {
    if (event.kind === "message") {
      this.#message = event;
      return;
    }
    if (event.kind === "task") {
      this.#isPartial = false;
      this.#taskId = event.id;
      this.#task = event;
      return;
    }
    this.#taskId ??= event.taskId;
    if (this.#task === undefined) this.#isPartial = true;
    this.#task = applyEvent(this.#task ?? unknownTask(event), event);
  }
}

/** A stream that resumes after a cursor does not include the state before it. */
function unknownTask({ taskId, contextId }: { taskId: string; contextId: string }): Task {
  return { kind: "task", id: taskId, contextId, status: { state: "unknown" } };
}

/** Whether the agent has received a message: then it is in the history of its task. */
export function hasMessage({ history = [] }: Task, messageId: string): boolean {
  return history.some((message) => message.messageId === messageId);
}
