import {
  A2AError,
  type A2AArtifact,
  type Message,
  type ServerStopping,
  type Task,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import type { CreationPosition, Seq } from "../log/backend.ts";
import type { ServedAgent } from "./agents.ts";
import type { Run } from "./run.ts";
import type { TaskWriter } from "../task/task-writer.ts";

export interface LiveTaskOptions {
  readonly owner: string;
  readonly contextId: string;
  readonly createdAt: number;
  readonly writer: TaskWriter;
  /** When the task times out, in milliseconds since the epoch. */
  readonly deadline: number | undefined;
  /** The oldest cursor from which the log can still be read. */
  readonly oldest: Seq;
  /** The name of its agent when it was created. */
  readonly agentName: string;
  /** The agent that works on it. Absent if its agent is not served here. */
  readonly agent: ServedAgent | undefined;
  /** The host on which it has to run, if it has to run on one. */
  readonly host?: string | undefined;
  /** Called with each new wake time of the task. */
  readonly onWakeAt: (at: number) => void;
}

/** A task that is open in this process: its writer and, while the agent works, its run. */
export class LiveTask {
  readonly owner: string;
  readonly contextId: string;
  readonly createdAt: number;
  readonly writer: TaskWriter;
  readonly deadline: number | undefined;
  readonly oldest: Seq;
  readonly agentName: string;
  readonly agent: ServedAgent | undefined;
  readonly host: string | undefined;
  readonly onWakeAt: (at: number) => void;
  /** Messages for the agent while it works. */
  readonly inbox = new Inbox();
  #run: Run | undefined;
  #isQueued = false;
  #isCanceled = false;
  #holders = 0;
  #arriving: Map<string, Promise<void>> | undefined;
  #received: Set<string> | undefined;
  #checkedHistory = 0;

  constructor(options: LiveTaskOptions) {
    this.owner = options.owner;
    this.contextId = options.contextId;
    this.createdAt = options.createdAt;
    this.writer = options.writer;
    this.deadline = options.deadline;
    this.oldest = options.oldest;
    this.agentName = options.agentName;
    this.agent = options.agent;
    this.host = options.host;
    this.onWakeAt = options.onWakeAt;
  }

  /** The agent that works on it. Throws if its agent is not served here: no other may work on it. */
  requireAgent(): ServedAgent {
    if (this.agent !== undefined) return this.agent;
    const { taskId } = this.writer;
    throw new A2AError(
      "UnsupportedOperation",
      `task ${taskId} belongs to the agent ${JSON.stringify(this.agentName)}, which is not served here`,
      { details: { taskId } },
    );
  }

  /** Messages that are being written, by id. Most tasks have none but their first. */
  get arriving(): Map<string, Promise<void>> {
    return (this.#arriving ??= new Map());
  }

  get run(): Run | undefined {
    return this.#run;
  }

  attachRun(run: Run): void {
    this.#run?.detached();
    this.#run = run;
  }

  /** @param run detaches only this run, if given */
  detachRun(run = this.#run): void {
    if (this.#run !== run) return;
    run?.detached();
    this.#run = undefined;
  }

  /** Gives the run up without ending the task, which goes on without it. */
  abandonRun(reason?: ServerStopping): void {
    this.#run?.giveUp(reason);
    this.detachRun();
  }

  /** Whether the task is queued to resume after a restart. */
  get isQueued(): boolean {
    return this.#isQueued;
  }

  enqueue(): void {
    this.#isQueued = true;
  }

  dequeue(): void {
    this.#isQueued = false;
  }

  /** Whether a cancel is being recorded, after which the task cannot end in any other way. */
  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  markCanceled(isCanceled = true): void {
    this.#isCanceled = isCanceled;
  }

  /** Whether an operation uses the task. Until it is released, the task must not be closed and opened again. */
  get isHeld(): boolean {
    return this.#holders > 0;
  }

  hold(): void {
    this.#holders++;
  }

  release(): void {
    this.#holders--;
  }

  /** Whether the task has received this message before. */
  hasReceived({ messageId }: Message): boolean {
    const history = this.task.history ?? [];
    const received = (this.#received ??= new Set());
    // The history only grows, so each message is checked once, however many turns there are (G9).
    for (; this.#checkedHistory < history.length; this.#checkedHistory++) {
      const { role, messageId: earlier } = history[this.#checkedHistory]!;
      if (role === "user") received.add(earlier);
    }
    return received.has(messageId);
  }

  /** Forgets the messages that it has received, because the store has lost some of them. */
  forgetMessages(): void {
    this.#received = undefined;
    this.#checkedHistory = 0;
    this.inbox.begin([], Infinity);
  }

  get task(): Task {
    return this.writer.task;
  }

  /** Whether the step that creates it is stored. */
  get isStored(): boolean {
    return this.writer.head > 0;
  }

  /** An artifact that is stored. */
  findArtifact(id: string): A2AArtifact | undefined {
    if (!this.isStored) return undefined;
    return this.task.artifacts?.find(({ artifactId }) => artifactId === id);
  }

  /** Its place among the tasks of its context. */
  get position(): CreationPosition {
    return { createdAt: this.createdAt, taskId: this.writer.taskId };
  }

  /** The approximate size in memory, in characters. */
  get size(): number {
    return this.writer.size;
  }

  /** Resolves when the condition is true: immediately, or after a commit. */
  until(condition: (live: LiveTask) => boolean): Promise<void> {
    if (condition(this)) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = this.writer.onCommit(() => {
        if (!condition(this)) return;
        stop();
        resolve();
      });
    });
  }
}

/** Whether the task has ended or waits for the caller. */
export function isSettled({ task }: LiveTask): boolean {
  return isTerminal(task.status.state) || isInterrupted(task.status.state);
}

/** Whether the task was created without a message and still waits for its first one. */
export function isEmpty({ task, writer }: LiveTask): boolean {
  return writer.nextState === "submitted" && (task.history ?? []).length === 0;
}

/** Whether the answer is known to be a task or a reply. */
export function isDecided({ writer }: LiveTask): boolean {
  return writer.listed || writer.reply !== undefined;
}

/** Messages for an agent that accepts them while it works, in the order of their arrival. */
class Inbox implements AsyncIterator<Message, undefined> {
  #messages: { readonly message: Message; readonly seq: Seq }[] = [];
  #waiting: ((result: IteratorResult<Message, undefined>) => void) | undefined;
  #closed = false;

  /** Starts a run with the messages of the log and those that arrived after the log was read. */
  begin(logged: readonly Message[], head: Seq): void {
    const later = this.#messages.filter(({ seq }) => seq > head);
    this.#messages = [...logged.map((message) => ({ message, seq: head })), ...later];
    // A pending reader belongs to an earlier run.
    this.#waiting = undefined;
    this.#closed = false;
  }

  put(message: Message, seq: Seq): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#messages.push({ message, seq });
    else waiting({ done: false, value: message });
  }

  close(): void {
    this.#closed = true;
    this.#waiting?.({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  /** Keeps what arrives for the next run: the reader never gets it. */
  leave(): void {
    this.#waiting = undefined;
  }

  next(): Promise<IteratorResult<Message, undefined>> {
    const next = this.#messages.shift();
    if (next !== undefined) return Promise.resolve({ done: false, value: next.message });
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
