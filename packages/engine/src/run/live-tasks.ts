import {
  A2AError,
  type AgentInfo,
  type Caller,
  type TaskState,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import type { Backend, Seq, StoredTask, TaskRecord } from "../log/backend.ts";
import { ownTimeout, taskDeadline } from "../task/task-clock.ts";
import { IdleTasks } from "../task/idle-tasks.ts";
import { LiveTask } from "./live-task.ts";
import { type TaskSnapshot, loadTask } from "../log/task-snapshot.ts";
import { TaskWriter, type TaskWriterOptions } from "../task/task-writer.ts";

/** Maximum number of open tasks that wait for their caller. */
const MAX_WAITING = 1000;

export interface LiveTasksOptions {
  readonly backend: Backend;
  readonly info: AgentInfo;
  /** Whether a stored task belongs to the agent. */
  readonly isOwn: (record: TaskRecord) => boolean;
  /** Called when a task ends. */
  readonly onEnded: (ended: EndedTask) => void;
  /** Called with the task for which a failed write is retried, if it is. */
  readonly onStorageError: (error: unknown, taskId: string | undefined) => void;
  readonly onStored: (taskId: string) => void;
  /** Called with each new wake time of a task. */
  readonly onWakeAt: (at: number) => void;
}

/**
 * The tasks that are open in this process, each with its single writer (G4: a
 * task has one writer). They are opened from the store on demand and closed when
 * they are no longer held; nothing is lost, because the store has all of them.
 */
export class LiveTasks {
  readonly #options: LiveTasksOptions;
  readonly #live = new Map<string, LiveTask>();
  readonly #reading = new Map<string, Promise<{ record: TaskRecord; snapshot: TaskSnapshot }>>();
  readonly #waiting = new IdleTasks<LiveTask>({
    maxTasks: MAX_WAITING,
    onEvict: (live) => this.close(live),
  });

  constructor(options: LiveTasksOptions) {
    this.#options = options;
  }

  /** The current snapshot of a task of the caller. */
  async find(taskId: string, caller: Caller): Promise<Found> {
    const live = this.#live.get(taskId);
    if (live?.owner === caller.owner && live.writer.head > 0) {
      const { task, head, size } = live.writer;
      return { task, head, size, oldest: live.oldest };
    }
    const record = await this.record(taskId, caller);
    return { ...(await loadTask(this.#options.backend, record)), oldest: oldestCursor(record) };
  }

  /** The stored record of a task of the caller. Another owner's task looks like an unknown one (G13: owners are isolated). */
  async record(taskId: string, caller: Caller): Promise<StoredTask> {
    const record = await this.#options.backend.tasks.get(taskId);
    if (record?.owner === caller.owner) return record;
    throw new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
  }

  /** The task if it is open: readers then use its memory instead of the store. */
  get(taskId: string): LiveTask | undefined {
    return this.#live.get(taskId);
  }

  values(): Iterable<LiveTask> {
    return this.#live.values();
  }

  clear(): void {
    this.#live.clear();
  }

  /** Opens a task that is about to be created. */
  create(facts: {
    readonly taskId: string;
    readonly owner: string;
    readonly contextId: string;
    readonly now: number;
    readonly createdAt: number;
    /** Time limit of this task, in addition to that of the agent. */
    readonly timeoutMs?: number | undefined;
  }): LiveTask {
    const { taskId, owner, contextId, now, createdAt, timeoutMs } = facts;
    const status = { state: "submitted", statusAt: now } as const;
    const writer = this.#writer({ taskId, owner, epoch: 1, status, listed: false });
    return this.#admit(writer, { owner, contextId, createdAt, oldest: 0, timeoutMs });
  }

  /** Opens and holds a task of the caller. A task that is already open is not looked up in the store. */
  async openFor(caller: Caller, taskId: string): Promise<LiveTask> {
    const held = this.#live.get(taskId);
    if (held?.owner === caller.owner && held.writer.head > 0) return this.hold(held);
    return this.open(await this.record(taskId, caller));
  }

  /** Opens and holds a task. Call `release` afterwards. */
  async open({ taskId }: TaskRecord): Promise<LiveTask> {
    const held = this.#live.get(taskId);
    if (held !== undefined) return this.hold(held);
    // Concurrent callers share one read, so that none of them opens a task that another has changed since.
    const reading = this.#reading.get(taskId) ?? this.#read(taskId);
    this.#reading.set(taskId, reading);
    try {
      const { record, snapshot } = await reading;
      return this.openSnapshot(record, snapshot);
    } finally {
      if (this.#reading.get(taskId) === reading) this.#reading.delete(taskId);
    }
  }

  /** Reads the record again: one that was read earlier may be out of date. */
  async #read(taskId: string): Promise<{ record: TaskRecord; snapshot: TaskSnapshot }> {
    const record = await this.#options.backend.tasks.get(taskId);
    if (record === undefined) throw new Error(`task ${taskId} is not in the store any more`);
    return { record, snapshot: await loadTask(this.#options.backend, record) };
  }

  /** Opens and holds a task whose log has been read already. */
  openSnapshot(record: TaskRecord, snapshot: TaskSnapshot): LiveTask {
    const opened = this.#live.get(record.taskId);
    // Another caller may have opened it meanwhile, and a task has one writer.
    if (opened !== undefined) return this.hold(opened);
    const { taskId, owner, epoch, listed, statusAt, wakeAt } = record;
    const status = { state: snapshot.task.status.state, statusAt };
    const writer = this.#writer({ taskId, owner, epoch, status, listed, wakeAt, snapshot });
    const otherAgent = this.#options.isOwn(record) ? undefined : record.agent;
    const timeoutMs = ownTimeout(snapshot.task);
    return this.#admit(writer, { ...record, otherAgent, oldest: oldestCursor(record), timeoutMs });
  }

  /** Keeps the task open until `release`, so that concurrent callers use the same writer (G4). */
  hold(live: LiveTask): LiveTask {
    live.hold();
    return live;
  }

  /** Holds a task that was open before; opens it again if it was closed since. */
  async holdAgain(live: LiveTask): Promise<LiveTask> {
    const { taskId, nextState } = live.writer;
    if (this.#live.get(taskId) === live || isTerminal(nextState)) return this.hold(live);
    return this.open(await this.record(taskId, live));
  }

  release(live: LiveTask): void {
    live.release();
    this.closeIfIdle(live);
  }

  /** Closes a task that is not in use. One that waits for its caller stays in memory for a while. */
  closeIfIdle(live: LiveTask): void {
    const { run, isHeld, writer } = live;
    if (run !== undefined || isHeld) return;
    if (isInterrupted(writer.nextState)) this.#waiting.keep(live);
    else this.close(live);
  }

  /** Closes a task that is not in use. */
  close(live: LiveTask): void {
    const { run, isHeld, writer } = live;
    if (run !== undefined || isHeld) return;
    if (this.#live.get(writer.taskId) === live) this.#live.delete(writer.taskId);
  }

  #admit(
    writer: TaskWriter,
    facts: Pick<TaskRecord, "owner" | "contextId" | "createdAt"> & {
      readonly oldest: Seq;
      readonly otherAgent?: string | undefined;
      readonly timeoutMs: number | undefined;
    },
  ): LiveTask {
    const { owner, contextId, createdAt, oldest, otherAgent, timeoutMs } = facts;
    const live = new LiveTask({
      owner,
      contextId,
      createdAt,
      writer,
      deadline: taskDeadline(this.#options.info, createdAt, timeoutMs),
      oldest,
      otherAgent,
      onWakeAt: this.#options.onWakeAt,
    });
    if (!isTerminal(writer.nextState)) this.#live.set(writer.taskId, live);
    return this.hold(live);
  }

  #writer({ owner, ...facts }: WriterFacts): TaskWriter {
    const { backend, onStorageError, onStored, onEnded } = this.#options;
    return new TaskWriter({
      ...facts,
      backend,
      onStorageError: (error, isRetried) =>
        onStorageError(error, isRetried ? facts.taskId : undefined),
      onStored: () => onStored(facts.taskId),
      onEnded: (state) => onEnded({ taskId: facts.taskId, owner, state }),
    });
  }
}

interface EndedTask {
  readonly taskId: string;
  readonly owner: string;
  readonly state: TaskState;
}

/** A snapshot, and how far back the log of the task reaches. */
interface Found extends TaskSnapshot {
  readonly oldest: Seq;
}

/** A compacted log has gaps, except before its last event. */
function oldestCursor({ compacted, head }: TaskRecord): Seq {
  return compacted ? head - 1 : 0;
}

type WriterFacts = Omit<
  TaskWriterOptions,
  "backend" | "onStorageError" | "onStored" | "onEnded"
> & {
  readonly owner: string;
};
