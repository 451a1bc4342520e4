import { type A2AError, type TaskState, isInterrupted, isTerminal } from "@convoke/protocol";
import { ShortLivedMap } from "@convoke/protocol/internal";
import type { Seq, StoredTask, TaskRecord, WakePosition } from "../log/backend.ts";
import type { WakingTask } from "./wake-timer.ts";
import type { TaskFiles } from "../files/task-files.ts";
import { ownTimeout, taskDeadline } from "../task/task-clock.ts";
import { IdleTasks } from "../task/idle-tasks.ts";
import type { Agents, ServedAgent } from "./agents.ts";
import { LiveTask, type LiveTaskOptions } from "./live-task.ts";
import { type TaskSnapshot, loadTask } from "../log/task-snapshot.ts";
import { TaskWriter, type TaskWriterHooks, type TaskWriterOptions } from "../task/task-writer.ts";
import { taskNotFound } from "./task-errors.ts";
import { type ReadTask, TaskRefresher, type TaskRefresherOptions } from "./task-refresher.ts";

/** Maximum number of open tasks that wait for their caller. */
const MAX_WAITING = 1000;

export interface LiveTasksOptions extends Omit<TaskRefresherOptions, "onGone"> {
  readonly agents: Agents;
  readonly files: TaskFiles;
  /** Called when a task ends. */
  readonly onEnded: (ended: EndedTask) => void;
  /** Called after each commit with a status, for tasks that lists include. */
  readonly onStatus: (change: TaskChange) => void;
  /** Called with the task for which a failed write is retried, if it is. */
  readonly onStorageError: (error: unknown, taskId: string | undefined) => void;
  readonly onStored: (taskId: string) => void;
  /** Called with each new wake time of a task. */
  readonly onWakeAt: (at: number) => void;
}

/** Whose tasks are meant. */
export interface TaskScope {
  readonly owner: string;
  /** Only tasks of this agent. Default: of any agent. */
  readonly agent?: ServedAgent | undefined;
}

/** Selects the tasks of the agent of a scope in a query of the store. */
export function agentFilter({ agent }: TaskScope): { readonly agentId?: string } {
  return agent === undefined ? {} : { agentId: agent.id };
}

/**
 * The tasks that are open in this process, each with its single writer (G4: a
 * task has one writer). They are opened from the store on demand and closed when
 * they are no longer held; nothing is lost, because the store has all of them.
 */
export class LiveTasks {
  readonly #options: LiveTasksOptions;
  readonly #live = new ShortLivedMap<LiveTask>();
  readonly #refresher: TaskRefresher;
  readonly #reading = new Map<string, Promise<ReadTask>>();
  readonly #waiting = new IdleTasks<LiveTask>({
    maxTasks: MAX_WAITING,
    onEvict: (live) => this.close(live),
  });
  readonly #hooks: TaskWriterHooks;
  #isStopped = false;

  constructor(options: LiveTasksOptions) {
    this.#options = options;
    this.#hooks = this.#createHooks();
    this.#refresher = new TaskRefresher({
      ...options,
      onGone: (live) => {
        if (this.#live.get(live.writer.taskId) === live) this.#live.delete(live.writer.taskId);
      },
    });
  }

  /** The current snapshot of a task within the scope. */
  async find(taskId: string, scope: TaskScope): Promise<Found> {
    const live = this.#visible(taskId, scope);
    if (live !== undefined) await this.#refresher.committed(live);
    if (live !== undefined && this.isCurrent(live)) {
      const { task, head, size } = live.writer;
      return { task, head, size, oldest: live.oldest };
    }
    const record = await this.record(taskId, scope);
    return { ...(await loadTask(this.#options.backend, record)), oldest: oldestCursor(record) };
  }

  /**
   * The stored record of a task within the scope. A task of another owner or agent looks like an
   * unknown one (G13: owners are isolated).
   */
  async record(taskId: string, { owner, agent }: TaskScope): Promise<StoredTask> {
    const record = await this.#options.backend.tasks.get(taskId);
    if (record?.owner === owner && agent?.owns(record) !== false) return record;
    throw taskNotFound(taskId);
  }

  /** The task if it is open. */
  get(taskId: string): LiveTask | undefined {
    return this.#live.get(taskId);
  }

  /** The task if it is open and nobody else can have changed it: readers then use its memory instead of the store. */
  current(taskId: string): LiveTask | undefined {
    const live = this.#live.get(taskId);
    return live !== undefined && this.isCurrent(live) ? live : undefined;
  }

  /** Whether what is in memory is what is stored, see `TaskRefresher.isCurrent`. */
  isCurrent(live: LiveTask): boolean {
    return this.#refresher.isCurrent(live);
  }

  /** Whether the task has to run on another host. */
  isElsewhere({ host }: { readonly host?: string | undefined }): boolean {
    const own = this.#options.backend.sharing?.host;
    return host !== undefined && own !== undefined && host !== own;
  }

  values(): Iterable<LiveTask> {
    return this.#live.values();
  }

  /** The ids of the tasks that this process works on, as the store has recorded. */
  running(): readonly string[] {
    return Array.from(this.#live.values(), ({ writer }) => writer)
      .filter(({ isRunning }) => isRunning)
      .map(({ taskId }) => taskId);
  }

  /** Gives up all runs without ending their tasks. Nothing is written to them any more, nor to tasks that are opened later. */
  stop(): void {
    this.#isStopped = true;
    for (const live of this.#live.values()) {
      live.writer.close();
      live.abandonRun();
    }
    this.#live.clear();
  }

  /** The open tasks that have a wake time, earliest first, as `TaskIndex.waking` of the store. */
  async waking(limit: number, after?: WakePosition): Promise<readonly WakingTask[]> {
    return Array.from(this.#live.values(), toWaking)
      .filter((task): task is WakingTask & WakePosition => task.wakeAt !== undefined)
      .filter((task) => after === undefined || byWakeTime(after, task) < 0)
      .toSorted(byWakeTime)
      .slice(0, limit);
  }

  /** Opens a task that is about to be created. */
  create(facts: {
    readonly agent: ServedAgent;
    readonly taskId: string;
    readonly owner: string;
    readonly contextId: string;
    readonly now: number;
    readonly createdAt: number;
    /** Time limit of this task, in addition to that of the agent. */
    readonly timeoutMs?: number | undefined;
    readonly host?: string | undefined;
  }): LiveTask {
    const { taskId, owner, now, agent } = facts;
    const status = { state: "submitted", statusAt: now } as const;
    const writer = this.#writer({ taskId, owner, epoch: 1, status, listed: false });
    return this.#admit(writer, { ...facts, agentName: agent.info.name, oldest: 0 });
  }

  /** Opens and holds a task within the scope. A task that is open and current is not looked up in the store. */
  async openFor(scope: TaskScope, taskId: string): Promise<LiveTask> {
    const held = this.#visible(taskId, scope);
    if (held !== undefined) return this.#holdFresh(held);
    const record = await this.record(taskId, scope);
    // If processes share the storage, any record may be out of date, and steps that rely on it are refused.
    return this.open(record, this.#options.backend.sharing && record);
  }

  /** The task if it is open, stored and within the scope. */
  #visible(taskId: string, { owner, agent }: TaskScope): LiveTask | undefined {
    const live = this.#live.get(taskId);
    const isMeant = live?.owner === owner && (agent === undefined || agent === live.agent);
    return isMeant && live.isStored ? live : undefined;
  }

  /**
   * Opens and holds a task. Call `release` afterwards.
   *
   * @param stored its record, if that need not be read again
   */
  async open({ taskId }: Pick<TaskRecord, "taskId">, stored?: StoredTask): Promise<LiveTask> {
    const held = this.#live.get(taskId);
    if (held !== undefined) return this.#holdFresh(held);
    // Concurrent callers share one read, so that none of them opens a task that another has changed since.
    const shared = this.#reading.get(taskId);
    const reading = shared ?? this.#refresher.read(taskId, stored);
    this.#reading.set(taskId, reading);
    try {
      const { record, snapshot } = await reading;
      const live = this.openSnapshot(record, snapshot);
      // A read that began before this call may be older than what this caller knows.
      if (shared === undefined && live.writer.head >= record.head) return live;
      return await this.#fresh(live);
    } finally {
      if (this.#reading.get(taskId) === reading) this.#reading.delete(taskId);
    }
  }

  /**
   * Opens and holds a task that this process has claimed after the given time, by `performance.now()`.
   *
   * @param snapshot what was read since, if it was
   */
  async openClaimed(claimed: TaskRecord, at: number, snapshot?: TaskSnapshot): Promise<LiveTask> {
    const live =
      snapshot === undefined ? await this.open(claimed) : this.openSnapshot(claimed, snapshot);
    try {
      // A step of this process may have been stored without an answer, before it claimed its own task.
      if (live.writer.position.epoch < claimed.epoch) await this.refresh(live, true);
    } catch (error) {
      this.release(live);
      throw error;
    }
    live.writer.claimed(claimed.epoch, at);
    return live;
  }

  #holdFresh(live: LiveTask): Promise<LiveTask> {
    return this.#fresh(this.hold(live));
  }

  /** Brings a held task up to date. If that fails, it is not held any more. */
  async #fresh(live: LiveTask): Promise<LiveTask> {
    try {
      await this.refresh(live);
      return live;
    } catch (error) {
      this.release(live);
      throw error;
    }
  }

  /** Brings an open task up to date with what other processes have written, see `TaskRefresher.refresh`. */
  refresh(live: LiveTask, isRefused = false): Promise<void> {
    return this.#refresher.refresh(live, isRefused);
  }

  /** The same, again until the storage answers. Resolves to the error if the store has lost the task. */
  refreshInsisting(live: LiveTask, isRefused = false): Promise<A2AError | undefined> {
    return this.#refresher.refreshInsisting(live, isRefused);
  }

  /** Resolves when the condition is true, see `TaskRefresher.until`. */
  until(live: LiveTask, condition: (live: LiveTask) => boolean): Promise<void> {
    return this.#refresher.until(live, condition);
  }

  /** Opens and holds a task whose log has been read already. */
  openSnapshot(record: TaskRecord, snapshot: TaskSnapshot): LiveTask {
    const opened = this.#live.get(record.taskId);
    // Another caller may have opened it meanwhile, and a task has one writer.
    if (opened !== undefined) return this.hold(opened);
    const { taskId, owner, epoch, listed, statusAt, wakeAt } = record;
    const status = { state: snapshot.task.status.state, statusAt };
    const writer = this.#writer({ taskId, owner, epoch, status, listed, wakeAt, snapshot });
    const agent = this.#options.agents.of(record);
    const oldest = oldestCursor(record);
    const timeoutMs = ownTimeout(snapshot.task);
    return this.#admit(writer, { ...record, agentName: record.agent, agent, oldest, timeoutMs });
  }

  /** Keeps the task open until `release`, so that concurrent callers use the same writer (G4). */
  hold(live: LiveTask): LiveTask {
    live.hold();
    return live;
  }

  /** Holds a task that was open before; opens it again if it was closed since. */
  async holdAgain(live: LiveTask): Promise<LiveTask> {
    const { taskId, nextState } = live.writer;
    if (isTerminal(nextState)) return this.hold(live);
    if (this.#live.get(taskId) === live) {
      return this.#options.backend.sharing === undefined ? this.hold(live) : this.#holdFresh(live);
    }
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
    const isWaiting = isInterrupted(writer.nextState) && live.isStored;
    if (isWaiting && live.agent !== undefined) this.#waiting.keep(live);
    else this.close(live);
  }

  /** Closes a task that is not in use. */
  close(live: LiveTask): void {
    const { run, isHeld, writer } = live;
    if (run !== undefined || isHeld) return;
    if (this.#live.get(writer.taskId) === live) this.#live.delete(writer.taskId);
  }

  /** Forgets an ended task that was removed from the store, whatever still holds it. */
  forget(taskId: string): void {
    this.#live.delete(taskId);
  }

  #admit(
    writer: TaskWriter,
    facts: Pick<
      LiveTaskOptions,
      "owner" | "contextId" | "createdAt" | "agentName" | "agent" | "oldest" | "host"
    > & { readonly timeoutMs?: number | undefined },
  ): LiveTask {
    const { owner, contextId, createdAt, agentName, agent, oldest, timeoutMs, host } = facts;
    const live = new LiveTask({
      owner,
      contextId,
      createdAt,
      agentName,
      agent,
      writer,
      deadline: agent && taskDeadline(agent.info, createdAt, timeoutMs),
      oldest,
      host,
      onWakeAt: this.#options.onWakeAt,
    });
    // Tasks that requests still create are stored, for the next process.
    if (this.#isStopped && writer.head > 0) writer.close();
    if (!isTerminal(writer.nextState)) this.#live.set(writer.taskId, live);
    return this.hold(live);
  }

  #writer(facts: WriterFacts): TaskWriter {
    const { backend, files, agents } = this.#options;
    const perAgent = agents.areSeveral ? ({ perAgent: true } as const) : undefined;
    return new TaskWriter({ ...facts, backend, files, ...perAgent, hooks: this.#hooks });
  }

  #createHooks(): TaskWriterHooks {
    const { onStorageError, onStored, onEnded, onStatus } = this.#options;
    return {
      onStorageError: ({ taskId }, error, isRetried) =>
        onStorageError(error, isRetried ? taskId : undefined),
      onStored: ({ taskId }) => onStored(taskId),
      onStale: ({ taskId }) => {
        const live = this.#live.get(taskId);
        // If the store has lost the task, there is nothing more to do.
        if (live !== undefined) void this.refreshInsisting(live, true);
      },
      onEnded: ({ taskId, owner }, state) => onEnded({ taskId, owner, state }),
      onStatus: ({ taskId, owner }, state, head) => onStatus({ taskId, owner, state, head }),
    };
  }
}

/** A task has a new status. */
export interface TaskChange {
  readonly taskId: string;
  readonly owner: string;
  readonly state: TaskState;
  readonly head: Seq;
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

function toWaking({ writer, agent, agentName, host }: LiveTask): WakingTask {
  const { taskId, nextWake: wakeAt } = writer;
  return {
    taskId,
    agent: agentName,
    ...(agent && { agentId: agent.id }),
    ...(host !== undefined && { host }),
    ...(wakeAt !== undefined && { wakeAt }),
  };
}

function byWakeTime(one: WakePosition, other: WakePosition): number {
  return one.wakeAt - other.wakeAt || (one.taskId < other.taskId ? -1 : 1);
}

/** A compacted log has gaps, except before its last event. */
function oldestCursor({ compacted, head }: TaskRecord): Seq {
  return compacted ? head - 1 : 0;
}

type WriterFacts = Omit<TaskWriterOptions, "backend" | "files" | "perAgent" | "hooks">;
