import {
  type A2AArtifact,
  type ArtifactUpdateEvent,
  type Message,
  type PublicEvent,
  type SendMessageRequest,
  type Task,
  applyEvent,
  isInterrupted,
  isTerminal,
  joinAll,
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
  /** Without the chunks in `#chunks`. */
  #task: Task | undefined;
  #chunks: ArtifactChunks | undefined;
  #message: Message | undefined;
  #isPartial = false;
  #taskId: string | undefined;

  constructor(taskId?: string) {
    this.#taskId = taskId;
  }

  get task(): Task | undefined {
    this.#addChunks();
    return this.#task;
  }

  /** The task, or the message if the agent answered without a task. */
  get answer(): Task | Message | undefined {
    return this.#message ?? this.task;
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
    return this.#message !== undefined || (this.#task !== undefined && isAtRest(this.#task));
  }

  add(event: PublicEvent): void {
    if (event.kind === "artifact-update" && this.#chunks?.take(event) === true) return;
    this.#addChunks();
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
    this.#task ??= unknownTask(event);
    if (event.kind === "artifact-update") this.#chunks = new ArtifactChunks(event);
    else this.#task = applyEvent(this.#task, event);
  }

  #addChunks(): void {
    if (this.#chunks === undefined || this.#task === undefined) return;
    this.#task = applyEvent(this.#task, this.#chunks.joined);
    this.#chunks = undefined;
  }
}

/** More chunks are added to the task, so that the events of a long answer do not stay in memory. */
const MAX_CHUNKS = 256;

/**
 * Chunks of one artifact that arrived one after the other. They are added to the task together, when it
 * is read or something else happens, which costs less than adding each of them.
 */
class ArtifactChunks {
  readonly #first: ArtifactUpdateEvent;
  readonly #more: A2AArtifact[] = [];

  constructor(first: ArtifactUpdateEvent) {
    this.#first = first;
  }

  /** Takes a chunk that is appended to the same artifact; returns false for any other event. */
  take({ artifact, append }: ArtifactUpdateEvent): boolean {
    const isNext = append === true && artifact.artifactId === this.#first.artifact.artifactId;
    if (!isNext || this.#more.length === MAX_CHUNKS) return false;
    this.#more.push(artifact);
    return true;
  }

  /** One event with the effect of all. */
  get joined(): ArtifactUpdateEvent {
    const { artifact } = this.#first;
    const chunks = this.#more.map(({ parts }) => parts);
    const parts = joinAll(artifact.parts, chunks);
    return { ...this.#first, artifact: { ...Object.assign({}, artifact, ...this.#more), parts } };
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

export function isAtRest({ status }: Pick<Task, "status">): boolean {
  return isTerminal(status.state) || isInterrupted(status.state);
}

/**
 * Whether a task shows what the agent made of a message to it. A question that it still shows may be the
 * one that the message answers, and a program that answers questions would answer it again. It is a
 * new one if it differs from the status that was known before, or follows the message in the history.
 */
export function hasMovedOn(task: Task, messageId: string, before: Task | undefined): boolean {
  if (!isInterrupted(task.status.state)) return true;
  if (before !== undefined) return !isSameQuestion(before.status, task.status);
  const { history = [] } = task;
  const place = history.findIndex((message) => message.messageId === messageId);
  return place >= 0 && history.slice(place + 1).some(({ role }) => role === "agent");
}

function isSameQuestion(one: Task["status"], other: Task["status"]): boolean {
  if (one.state !== other.state) return false;
  const [id, otherId] = [one.message?.messageId, other.message?.messageId];
  return id === otherId && (id !== undefined || one.timestamp === other.timestamp);
}
