import {
  type Message,
  type PublicEvent,
  type SendMessageRequest,
  type Task,
  applyEvent,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";

/** An event, with the id that resumes after it; "" where the agent sends none. */
export interface StreamedEvent {
  readonly event: PublicEvent;
  readonly id: string;
}

/** Where the events of a run come from, however often the connection changes. */
export interface TaskEventSource {
  /** What came so far; an event is in it when it is yielded. */
  readonly snapshot: TaskSnapshot;
  /** The id that resumes after the last event. */
  readonly lastEventId: string | undefined;
  /** Nothing is requested before the reading begins. It is read once. */
  read(signal: AbortSignal): AsyncGenerator<StreamedEvent, void, undefined>;
  /**
   * Between two steps of the reading: the next event where it has arrived already
   * and nothing is to be done about it, which is nearly always so in a long answer.
   * Without one the reading goes on, whatever comes.
   */
  takeBuffered?(): StreamedEvent | undefined;
}

/** What is wanted of the agent. */
export type RunRequest =
  /** An answer to a message, as it comes. */
  | { readonly kind: "stream"; readonly request: SendMessageRequest }
  /** An answer to a message, at once or, when the request is blocking, when it is whole. */
  | { readonly kind: "call"; readonly request: SendMessageRequest }
  /** The events of a task, over questions and answers, from the beginning or after an event. */
  | {
      readonly kind: "subscribe";
      readonly taskId: string;
      readonly lastEventId?: string | undefined;
    };

/** What is done next to get it. */
export type RunStep = "send" | "call" | "subscribe" | "poll" | "over";

/** What an error leads to. */
export interface RecoveryStep {
  readonly next: RunStep;
  /** The task as the agent has it, when it was asked. */
  readonly task?: Task;
}

/** What the events of a run add up to. */
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

  /** The task, or the message that is the whole answer. */
  get answer(): Task | Message | undefined {
    return this.#message ?? this.#task;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get contextId(): string | undefined {
    return this.#message?.contextId ?? this.#task?.contextId;
  }

  /** Whether the run began in the middle of the task, so that something is missing. */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Whether the agent has done its part: it answered, ended the task, or waits for its caller. */
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

/** A stream that goes on after a cursor does not say what was before. */
function unknownTask({ taskId, contextId }: { taskId: string; contextId: string }): Task {
  return { kind: "task", id: taskId, contextId, status: { state: "unknown" } };
}
