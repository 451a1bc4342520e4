import {
  A2AError,
  ServerStopping,
  type TaskState,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import type {
  Backend,
  LogPosition,
  Seq,
  StoredTask,
  TaskRecord,
  WakePosition,
} from "../log/backend.ts";
import type { WakingTask } from "./wake-timer.ts";
import { type LogEntry, readEntry } from "../log/log-entry.ts";
import { ownTimeout, taskDeadline } from "../task/task-clock.ts";
import { IdleTasks } from "../task/idle-tasks.ts";
import type { Agents, ServedAgent } from "./agents.ts";
import { LiveTask, type LiveTaskOptions } from "./live-task.ts";
import { type TaskSnapshot, loadTask } from "../log/task-snapshot.ts";
import { TaskWriter, type TaskWriterOptions } from "../task/task-writer.ts";

/** How many events are read at a time. */
const PAGE = 256;

/** Maximum number of open tasks that wait for their caller. */
const MAX_WAITING = 1000;

export interface LiveTasksOptions {
  readonly backend: Backend;
  readonly agents: Agents;
  /** Called when a task ends. */
  readonly onEnded: (ended: EndedTask) => void;
  /** Called after each commit with a status, for tasks that lists include. */
  readonly onStatus: (change: TaskChange) => void;
  /** Called with the task for which a failed write is retried, if it is. */
  readonly onStorageError: (error: unknown, taskId: string | undefined) => void;
  readonly onStored: (taskId: string) => void;
  /**
   * Called when the run of a task was aborted because its log is not what this process wrote, and perhaps
   * no other process works on the task.
   */
  readonly onSetBack: (taskId: string) => void;
  /** Retries until the storage works again. */
  readonly keepTrying: (taskId: string, work: () => Promise<void>) => Promise<unknown>;
  /** Called for a task that no run of this process works on, although the store may have recorded that. */
  readonly onAbandoned: (taskId: string) => void;
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
  readonly #live = new Map<string, LiveTask>();
  readonly #reading = new Map<string, Promise<{ record: TaskRecord; snapshot: TaskSnapshot }>>();
  readonly #waiting = new IdleTasks<LiveTask>({
    maxTasks: MAX_WAITING,
    onEvict: (live) => this.close(live),
  });
  #isStopped = false;

  constructor(options: LiveTasksOptions) {
    this.#options = options;
  }

  /** The current snapshot of a task within the scope. */
  async find(taskId: string, scope: TaskScope): Promise<Found> {
    const live = this.#visible(taskId, scope);
    if (live !== undefined) await this.#committed(live);
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

  /**
   * Whether what is in memory is what is stored. Always, unless processes share the storage: then
   * only while this one works on the task, and has had a valid lease since it last looked.
   */
  isCurrent({ writer }: LiveTask): boolean {
    const { sharing } = this.#options.backend;
    return sharing === undefined || (writer.isRunning && sharing.isHeld(writer.verifiedAt));
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

  /** Aborts all runs without ending their tasks. Nothing is written to them any more, nor to tasks that are opened later. */
  stop(): void {
    this.#isStopped = true;
    for (const { writer, run } of this.#live.values()) {
      writer.close();
      run?.abort(new ServerStopping());
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
    return held === undefined ? this.open(await this.record(taskId, scope)) : this.#holdFresh(held);
  }

  /** The task if it is open, stored and within the scope. */
  #visible(taskId: string, { owner, agent }: TaskScope): LiveTask | undefined {
    const live = this.#live.get(taskId);
    const isMeant = live?.owner === owner && (agent === undefined || agent === live.agent);
    return isMeant && live.writer.head > 0 ? live : undefined;
  }

  /** Opens and holds a task. Call `release` afterwards. */
  async open({ taskId }: Pick<TaskRecord, "taskId">): Promise<LiveTask> {
    const held = this.#live.get(taskId);
    if (held !== undefined) return this.#holdFresh(held);
    // Concurrent callers share one read, so that none of them opens a task that another has changed since.
    const shared = this.#reading.get(taskId);
    const reading = shared ?? this.#read(taskId);
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

  /** Reads the record again: one that was read earlier may be out of date. */
  async #read(taskId: string): Promise<{ record: TaskRecord; snapshot: TaskSnapshot }> {
    const record = await this.#options.backend.tasks.get(taskId);
    if (record === undefined) throw new Error(`task ${taskId} is not in the store any more`);
    const snapshot = await loadTask(this.#options.backend, record, record.head);
    if (snapshot.epoch !== undefined || this.#options.backend.sharing === undefined) {
      return { record, snapshot };
    }
    const [last] = await this.#options.backend.read(taskId, snapshot.head - 1, 1);
    return { record, snapshot: { ...snapshot, epoch: last?.epoch } };
  }

  /** Opens and holds a task that this process has claimed after the given time, by `performance.now()`. */
  async openClaimed(claimed: TaskRecord, at: number): Promise<LiveTask> {
    const live = await this.open(claimed);
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

  /**
   * Brings an open task up to date with what other processes have written. If they have, its run in
   * this process is aborted without ending the task: another one works on it. A failover of the
   * database may have lost events that are in memory: then the task is set back to what is left.
   *
   * @param isRefused the store has refused a step of this process, so what is in memory may be wrong
   */
  async refresh(live: LiveTask, isRefused = false): Promise<void> {
    const { writer } = live;
    await this.#committed(live);
    const mustLook = isRefused && this.#options.backend.sharing !== undefined;
    while (mustLook || !this.isCurrent(live)) {
      await writer.settled;
      const before = writer.position;
      if (before.head === 0) return;
      const readAt = performance.now();
      const record = await this.#options.backend.tasks.record(writer.taskId);
      if (record === undefined) return this.#forget(live);
      if (isAt(record, before)) return writer.verified(readAt);
      // The last event that is known comes with those after it, if the log still has it.
      const [known, ...entries] = await this.#entriesBetween(before.head - 1, record);
      const isWhole = known?.seq === before.head && known.epoch === writer.headEpoch;
      const left = isWhole ? undefined : await this.#read(writer.taskId);
      // Only if nothing was written here meanwhile: the record would be older than that.
      if (writer.settled !== undefined || !isAt(before, writer.position)) continue;
      if (live.run !== undefined || writer.isRunning) this.#options.onAbandoned(writer.taskId);
      abortRun(live);
      if (left === undefined) return writer.catchUp(record, entries);
      live.forgetMessages();
      writer.rewind(left.record, left.snapshot);
      return this.#options.onSetBack(writer.taskId);
    }
  }

  /** Waits for a step that is being stored: through another process, a client may have seen it already. */
  async #committed({ writer }: LiveTask): Promise<void> {
    if (this.#options.backend.sharing !== undefined) await writer.committing;
  }

  /** The store has lost the task. */
  #forget(live: LiveTask): never {
    const { writer } = live;
    const { taskId } = writer;
    abortRun(live);
    writer.fence();
    writer.lost();
    if (this.#live.get(taskId) === live) this.#live.delete(taskId);
    throw taskNotFound(taskId);
  }

  /** A step was refused, because the log does not end where this process believes. */
  #refused(live: LiveTask): void {
    // If the store has lost the task, there is nothing more to do.
    const refresh = (): Promise<void> => this.refresh(live, true).catch(ignoreNotFound);
    void this.#options.keepTrying(live.writer.taskId, refresh);
  }

  async #entriesBetween(after: Seq, { taskId, head }: TaskRecord): Promise<readonly LogEntry[]> {
    const entries: LogEntry[] = [];
    while (after + entries.length < head) {
      const from = after + entries.length;
      const page = await this.#options.backend.read(taskId, from, Math.min(PAGE, head - from));
      if (page.length === 0) break;
      entries.push(...page.map(readEntry));
    }
    return entries;
  }

  /**
   * Resolves when the condition is true: immediately, or after a commit of this or another process.
   * Rejects if the store has lost the task.
   */
  async until(live: LiveTask, condition: (live: LiveTask) => boolean): Promise<void> {
    const { backend } = this.#options;
    if (backend.sharing === undefined || condition(live)) return live.until(condition);
    const lost = Promise.withResolvers<never>();
    const refresh = (): void => {
      // A database that does not answer now is asked again after the next commit.
      this.refresh(live).catch((error: unknown) => A2AError.is(error) && lost.reject(error));
    };
    const stop = backend.watch(live.writer.taskId, refresh);
    try {
      refresh();
      await Promise.race([live.until(condition), lost.promise]);
    } finally {
      stop();
    }
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
    if (this.#live.get(taskId) === live) return this.#holdFresh(live);
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
    if (isInterrupted(writer.nextState) && live.isServed) this.#waiting.keep(live);
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

  #writer({ owner, ...facts }: WriterFacts): TaskWriter {
    const { backend, agents, onStorageError, onStored, onAbandoned } = this.#options;
    const { onEnded, onStatus } = this.#options;
    return new TaskWriter({
      ...facts,
      backend,
      ...(agents.areSeveral && { perAgent: true }),
      onStorageError: (error, isRetried) =>
        onStorageError(error, isRetried ? facts.taskId : undefined),
      onStored: () => onStored(facts.taskId),
      onStale: () => {
        onAbandoned(facts.taskId);
        const live = this.#live.get(facts.taskId);
        if (live !== undefined) this.#refused(live);
      },
      onUnsure: () => onAbandoned(facts.taskId),
      onEnded: (state) => onEnded({ taskId: facts.taskId, owner, state }),
      onStatus: (state, head) => onStatus({ taskId: facts.taskId, owner, state, head }),
    });
  }
}

/** The error for a task that does not exist, or belongs to another owner. */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
}

/** Another process has changed the task since it was read. */
export class TaskMoved extends A2AError {
  constructor(taskId: string) {
    super("Unavailable", `task ${taskId} is being changed by others; send the same message again`);
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

export function ignoreNotFound(error: unknown): void {
  if (!A2AError.is(error)) throw error;
}

/** Aborts the run of a task that goes on without it. */
function abortRun(live: LiveTask): void {
  const { run } = live;
  live.detachRun();
  run?.abort(new ServerStopping());
  // A cancel that is not in the log is left to the process that works on the task now.
  live.markCanceled(false);
}

function isAt(one: LogPosition, other: LogPosition): boolean {
  return one.head === other.head && one.epoch === other.epoch;
}

/** A compacted log has gaps, except before its last event. */
function oldestCursor({ compacted, head }: TaskRecord): Seq {
  return compacted ? head - 1 : 0;
}

type WriterFacts = Omit<
  TaskWriterOptions,
  | "backend"
  | "perAgent"
  | "onStorageError"
  | "onStored"
  | "onStale"
  | "onUnsure"
  | "onEnded"
  | "onStatus"
> & {
  readonly owner: string;
};
