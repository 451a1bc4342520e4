import { isInterrupted, isTerminal, type Message, type Task } from "@convoke/protocol";
import type { CreationPosition, Seq } from "../log/backend.ts";
import type { Run } from "./run.ts";
import type { TaskWriter } from "../task/task-writer.ts";

export interface LiveTaskOptions {
  readonly owner: string;
  readonly contextId: string;
  readonly createdAt: number;
  readonly writer: TaskWriter;
  /** When the task must be over, in milliseconds. */
  readonly deadline: number | undefined;
  /** The oldest cursor that its log still knows. */
  readonly oldest: Seq;
  /** Called with each time at which the task wants to be woken. */
  readonly onWakeWanted: (at: number) => void;
}

/** A task that this process works on: its writer and, while an agent works, its run. */
export class LiveTask {
  readonly owner: string;
  readonly contextId: string;
  readonly createdAt: number;
  readonly writer: TaskWriter;
  readonly deadline: number | undefined;
  readonly oldest: Seq;
  readonly onWakeWanted: (at: number) => void;
  /** Messages to the agent while it works. */
  inbox = new Inbox();
  /** Messages that are being written, by their ids. */
  readonly arriving = new Map<string, Promise<void>>();
  run: Run | undefined;
  /** It stands in line to be begun anew. */
  isInLine = false;
  /** A cancel is being recorded: from its place in the log on there is no other end. */
  isCanceled = false;
  /** How many are about to do something with it. While there is one, nobody else opens the task again. */
  holders = 0;
  readonly #received = new Set<string>();
  #lookedAt = 0;

  constructor(options: LiveTaskOptions) {
    this.owner = options.owner;
    this.contextId = options.contextId;
    this.createdAt = options.createdAt;
    this.writer = options.writer;
    this.deadline = options.deadline;
    this.oldest = options.oldest;
    this.onWakeWanted = options.onWakeWanted;
  }

  /** Whether a caller's message is in the task already. */
  hasReceived({ messageId }: Message): boolean {
    const history = this.task.history ?? [];
    // History only grows, so each message is looked at once, however many turns there are (G9).
    for (; this.#lookedAt < history.length; this.#lookedAt++) {
      const { role, messageId: earlier } = history[this.#lookedAt]!;
      if (role === "user") this.#received.add(earlier);
    }
    return this.#received.has(messageId);
  }

  get task(): Task {
    return this.writer.task;
  }

  /** Its place among the tasks of its context. */
  get position(): CreationPosition {
    return { createdAt: this.createdAt, taskId: this.writer.taskId };
  }

  /** About how much it takes up in memory, in characters. */
  get size(): number {
    return this.writer.size;
  }

  /** Resolves when a commit makes the condition true, or at once when it is. */
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

/** Whether the caller has to do something, or nothing more will come. */
export function isSettled({ task }: LiveTask): boolean {
  return isTerminal(task.status.state) || isInterrupted(task.status.state);
}

/** Whether it is known that there is a task to show, or a reply instead of one. */
export function isDecided({ writer }: LiveTask): boolean {
  return writer.listed || writer.reply !== undefined;
}

/** Messages to an agent that takes them while it works, in the order they came. */
class Inbox implements AsyncIterator<Message, undefined> {
  #messages: { readonly message: Message; readonly seq: Seq }[] = [];
  #waiting: ((result: IteratorResult<Message, undefined>) => void) | undefined;
  #closed = false;

  /** Begins a run: with what the log had for it, and what came after the log was read. */
  begin(logged: readonly Message[], head: Seq): void {
    const later = this.#messages.filter(({ seq }) => seq > head);
    this.#messages = [...logged.map((message) => ({ message, seq: head })), ...later];
    // Whoever waited here belongs to a run that is over.
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

  next(): Promise<IteratorResult<Message, undefined>> {
    const next = this.#messages.shift();
    if (next !== undefined) return Promise.resolve({ done: false, value: next.message });
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
