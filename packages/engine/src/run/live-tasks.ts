import {
  A2AError,
  type AgentInfo,
  type Caller,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import type { Backend, Seq, StoredTask, TaskRecord } from "../log/backend.ts";
import { taskDeadline } from "../task/deadlines.ts";
import { KeptTasks } from "../task/kept-tasks.ts";
import { LiveTask } from "./live-task.ts";
import { type Folded, loadTask } from "../log/load-task.ts";
import { TaskWriter, type TaskWriterOptions } from "../task/task-writer.ts";

/** How many tasks that wait for their caller are kept open. */
const MOST_WAITING = 1000;

export interface LiveTasksOptions {
  readonly backend: Backend;
  readonly info: AgentInfo;
  /** Called with the owner of each task that has ended. */
  readonly onEnded: (owner: string) => void;
  readonly onStorageError: (taskId: string, error: unknown) => void;
  /** Called with each time at which a task wants to be woken. */
  readonly onWakeWanted: (at: number) => void;
}

/**
 * The tasks that this process works on, each with its one writer (G4): opened
 * from the store when they are needed, kept while someone holds them, and
 * forgotten when nobody does, for the store has all of them.
 */
export class LiveTasks {
  readonly #options: LiveTasksOptions;
  readonly #live = new Map<string, LiveTask>();
  readonly #reading = new Map<string, Promise<{ record: TaskRecord; folded: Folded }>>();
  readonly #waiting = new KeptTasks<LiveTask>({
    most: MOST_WAITING,
    onDrop: (live) => this.forget(live),
  });

  constructor(options: LiveTasksOptions) {
    this.#options = options;
  }

  /** The task and its place in the log, if the caller may see it. */
  async find(taskId: string, caller: Caller): Promise<Found> {
    const live = this.#live.get(taskId);
    if (live?.owner === caller.owner && live.writer.head > 0) {
      const { task, head, size } = live.writer;
      return { task, head, size, oldest: live.oldest };
    }
    const record = await this.record(taskId, caller);
    return { ...(await loadTask(this.#options.backend, record)), oldest: oldestCursor(record) };
  }

  /** What the index knows of the task. A foreign id looks like an unknown one (G13). */
  async record(taskId: string, caller: Caller): Promise<StoredTask> {
    const record = await this.#options.backend.tasks.get(taskId);
    if (record?.owner === caller.owner) return record;
    throw new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
  }

  /** The task while this process works on it: readers use its memory instead of the store. */
  get(taskId: string): LiveTask | undefined {
    return this.#live.get(taskId);
  }

  values(): Iterable<LiveTask> {
    return this.#live.values();
  }

  clear(): void {
    this.#live.clear();
  }

  /** Makes room for a task that is about to be created. */
  create(facts: {
    readonly taskId: string;
    readonly owner: string;
    readonly contextId: string;
    readonly now: number;
    readonly createdAt: number;
  }): LiveTask {
    const { taskId, owner, contextId, now, createdAt } = facts;
    const standing = { state: "submitted", statusAt: now } as const;
    const writer = this.#writer({ taskId, owner, epoch: 1, standing, listed: false });
    return this.#admit(writer, { owner, contextId, createdAt, oldest: 0 });
  }

  /** Opens a task for someone who may see it. One that is at hand is not looked up in the store. */
  async openFor(caller: Caller, taskId: string): Promise<LiveTask> {
    const held = this.#live.get(taskId);
    if (held?.owner === caller.owner && held.writer.head > 0) return this.hold(held);
    return this.open(await this.record(taskId, caller));
  }

  /** The task as this process holds it, opened from the store when it does not yet. Comes with a `release`. */
  async open({ taskId }: TaskRecord): Promise<LiveTask> {
    const held = this.#live.get(taskId);
    if (held !== undefined) return this.hold(held);
    // One reads for all who come meanwhile, so that nobody opens what another has changed since.
    const reading = this.#reading.get(taskId) ?? this.#read(taskId);
    this.#reading.set(taskId, reading);
    try {
      const { record, folded } = await reading;
      return this.openFolded(record, folded);
    } finally {
      if (this.#reading.get(taskId) === reading) this.#reading.delete(taskId);
    }
  }

  /** The task as the store has it now: a record that was read earlier may be out of date. */
  async #read(taskId: string): Promise<{ record: TaskRecord; folded: Folded }> {
    const record = await this.#options.backend.tasks.get(taskId);
    if (record === undefined) throw new Error(`task ${taskId} is not in the store any more`);
    return { record, folded: await loadTask(this.#options.backend, record) };
  }

  /** The same, for whoever has read the log already. */
  openFolded(record: TaskRecord, folded: Folded): LiveTask {
    const opened = this.#live.get(record.taskId);
    // Someone else may have opened it meanwhile, and a task has one writer.
    if (opened !== undefined) return this.hold(opened);
    const { taskId, owner, epoch, listed, statusAt, wakeAt } = record;
    const standing = { state: folded.task.status.state, statusAt };
    const writer = this.#writer({ taskId, owner, epoch, standing, listed, wakeAt, folded });
    return this.#admit(writer, { ...record, oldest: oldestCursor(record) });
  }

  /** Keeps the task open until `release`: two that open it must find the same writer (G4). */
  hold(live: LiveTask): LiveTask {
    live.holders++;
    return live;
  }

  /** Holds a task that was open a moment ago, and opens it again when it is not any more. */
  async holdAgain(live: LiveTask): Promise<LiveTask> {
    const { taskId, nextState } = live.writer;
    if (this.#live.get(taskId) === live || isTerminal(nextState)) return this.hold(live);
    return this.open(await this.record(taskId, live));
  }

  release(live: LiveTask): void {
    live.holders--;
    this.letGo(live);
  }

  /** Forgets a task that nobody works on; the store has all of it. */
  letGo(live: LiveTask): void {
    const { run, holders, writer } = live;
    if (run !== undefined || holders > 0) return;
    if (isInterrupted(writer.nextState)) this.#waiting.keep(live);
    else this.forget(live);
  }

  /** The same for one that waits. */
  forget(live: LiveTask): void {
    const { run, holders, writer } = live;
    if (run !== undefined || holders > 0) return;
    if (this.#live.get(writer.taskId) === live) this.#live.delete(writer.taskId);
  }

  #admit(
    writer: TaskWriter,
    facts: Pick<TaskRecord, "owner" | "contextId" | "createdAt"> & { readonly oldest: Seq },
  ): LiveTask {
    const { owner, contextId, createdAt, oldest } = facts;
    const live = new LiveTask({
      owner,
      contextId,
      createdAt,
      writer,
      deadline: taskDeadline(this.#options.info, createdAt),
      oldest,
      onWakeWanted: this.#options.onWakeWanted,
    });
    if (!isTerminal(writer.nextState)) this.#live.set(writer.taskId, live);
    return this.hold(live);
  }

  #writer({ owner, ...facts }: WriterFacts): TaskWriter {
    const { backend, onStorageError, onEnded } = this.#options;
    return new TaskWriter({
      ...facts,
      backend,
      onStorageError: (error) => onStorageError(facts.taskId, error),
      onEnded: () => onEnded(owner),
    });
  }
}

/** A task, and how far back its log reaches. */
interface Found extends Folded {
  readonly oldest: Seq;
}

/** Of a compacted log the last event is left. */
function oldestCursor({ compacted, head }: TaskRecord): Seq {
  return compacted ? head - 1 : 0;
}

type WriterFacts = Omit<TaskWriterOptions, "backend" | "onStorageError" | "onEnded"> & {
  readonly owner: string;
};
