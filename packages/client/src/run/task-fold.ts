import {
  type Message,
  type PublicEvent,
  type Task,
  applyEvent,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";

/** What the events of a run add up to. */
export class TaskFold {
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
