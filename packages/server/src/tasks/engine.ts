import {
  A2AError,
  type Agent,
  type AgentEvent,
  type Caller,
  type Message,
  type Metadata,
  type TaskState,
  type TraceContext,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../logger.ts";
import type { PushRules } from "../push/push-rules.ts";
import { Alarm } from "./alarm.ts";
import type { Backend, Seq, TaskRecord } from "./backend.ts";
import { taskDeadline } from "./deadlines.ts";
import { explainFailure } from "./explain-failure.ts";
import { keepTrying } from "./keep-trying.ts";
import { type Limits, limitsOf } from "./limits.ts";
import { LiveTask } from "./live-task.ts";
import { type Folded, loadTask } from "./load-task.ts";
import { OpenTasks } from "./open-tasks.ts";
import { ParkedRuns } from "./parked-runs.ts";
import { Readers } from "./readers.ts";
import { Run } from "./run.ts";
import { statusEvent } from "./status-event.ts";
import { TaskClock } from "./task-clock.ts";
import { TaskWriter, type TaskWriterOptions } from "./task-writer.ts";
import type { TurnFacts } from "./turn.ts";
import { WaitingTasks } from "./waiting-tasks.ts";
import { wakeTask } from "./wake-task.ts";

/** How often a draining engine looks whether it is done. */
const DRAIN_LOOK_MS = 20;

/** How long a list waits for what is being stored. */
const SETTLE_MS = 1000;

export interface EngineOptions {
  readonly agent: Agent;
  readonly backend: Backend;
  readonly logger: Logger;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
  /** How many runs that wait for someone are kept in memory; the others begin anew when they go on. */
  readonly maxParkedRuns?: number;
  readonly limits?: Partial<Limits>;
}

/**
 * Holds the tasks this process works on, each with its one writer, and runs
 * the agent on them. What happens to a task is in the files beside it:
 * `accept-message`, `resume-task`, `cancel-task`, `wake-task`, `recover`.
 * Everything read here is what the log says.
 */
export class Engine {
  readonly agent: Agent;
  readonly backend: Backend;
  readonly clock: TaskClock;
  readonly logger: Logger;
  readonly alarm: Alarm;
  readonly limits: Limits;
  readonly openTasks: OpenTasks;
  readonly readers: Readers;
  /** Absent while nothing is pushed. */
  pushRules: PushRules | undefined;
  /** Called each time a task has ended. */
  onTaskEnded: () => void = () => undefined;
  #live = new Map<string, LiveTask>();
  #reading = new Map<string, Promise<{ record: TaskRecord; folded: Folded }>>();
  #parked: ParkedRuns;
  #waiting = new WaitingTasks((live) => this.#forget(live));
  #isDraining = false;
  readonly #closing = new AbortController();

  constructor(options: EngineOptions) {
    this.agent = options.agent;
    this.backend = options.backend;
    this.logger = options.logger;
    this.clock = new TaskClock(options.now ?? Date.now);
    this.limits = limitsOf(options.limits);
    this.openTasks = new OpenTasks(this.limits.openTasks);
    this.readers = new Readers(this.limits.streams);
    this.#parked = new ParkedRuns(options.maxParkedRuns, (live) => this.#drop(live));
    this.alarm = new Alarm({
      tasks: options.backend.tasks,
      now: this.now,
      wake: (record, at) => wakeTask(this, record, at),
      onError: (error) => this.logger.error("a timer failed, trying again", { error }),
    });
  }

  /** The time for what is written now. */
  readonly now = (): number => this.clock.now();

  /** How many tasks have an agent at work. */
  get running(): number {
    let count = 0;
    for (const { run } of this.#live.values()) if (run?.isParked === false) count++;
    return count;
  }

  /** The task and its place in the log, if the caller may see it. */
  async find(taskId: string, caller: Caller): Promise<Found> {
    const live = this.#live.get(taskId);
    if (live?.owner === caller.owner && live.writer.head > 0) {
      return { task: live.task, head: live.writer.head, oldest: live.oldest };
    }
    const record = await this.record(taskId, caller);
    return { ...(await loadTask(this.backend, record)), oldest: oldestCursor(record) };
  }

  /** What the index knows of the task. A foreign id looks like an unknown one (G13). */
  async record(taskId: string, caller: Caller): Promise<TaskRecord> {
    const record = await this.backend.tasks.get(taskId);
    if (record?.owner === caller.owner) return record;
    throw new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
  }

  /** The task while this process works on it: readers use its memory instead of the store. */
  live(taskId: string): LiveTask | undefined {
    return this.#live.get(taskId);
  }

  /** Makes room for a task that is about to be created. */
  create(facts: { taskId: string; owner: string; contextId: string; now: number }): LiveTask {
    const { taskId, owner, contextId, now } = facts;
    const standing = { state: "submitted", statusAt: now } as const;
    const writer = this.#writer({ taskId, owner, epoch: 1, standing, listed: false });
    return this.#admit(writer, { owner, contextId, createdAt: now, oldest: 0 });
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
    const record = await this.backend.tasks.get(taskId);
    if (record === undefined) throw new Error(`task ${taskId} is not in the store any more`);
    return { record, folded: await loadTask(this.backend, record) };
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
    this.#letGo(live);
  }

  /** Forgets a task that nobody works on; the store has all of it. */
  #letGo(live: LiveTask): void {
    const { run, holders, writer } = live;
    if (run !== undefined || holders > 0) return;
    if (isInterrupted(writer.nextState)) this.#waiting.keep(live);
    else this.#forget(live);
  }

  #forget(live: LiveTask): void {
    const { run, holders, writer } = live;
    if (run !== undefined || holders > 0) return;
    if (this.#live.get(writer.taskId) === live) this.#live.delete(writer.taskId);
  }

  /** Starts the agent on a turn, unless someone was quicker: canceled it, or ended it. */
  start(live: LiveTask, facts: TurnFacts): Run | undefined {
    const { writer } = live;
    if (writer.epoch !== facts.epoch || isTerminal(writer.nextState)) return undefined;
    const run = new Run({
      agent: this.agent,
      limits: this.limits,
      live,
      facts,
      now: this.now,
      onPark: () => this.#parked.add(live),
      explain: (error) => explainFailure(error, live.writer.taskId, this.logger),
    });
    live.run = run;
    void run.ended.then(() => {
      if (live.run === run) live.run = undefined;
      this.#letGo(live);
    });
    return run;
  }

  /** A status in the engine's own name. */
  status(live: LiveTask, state: TaskState, extra: StatusExtra = {}): AgentEvent {
    const { message, trace, metadata } = extra;
    const all = { ...metadata, ...trace };
    return statusEvent({
      taskId: live.writer.taskId,
      contextId: live.contextId,
      state,
      timestamp: live.writer.statusTime(this.now()),
      ...(message && { message }),
      ...(Object.keys(all).length > 0 && { metadata: all }),
    });
  }

  /**
   * Resolves when everything that was written so far is stored, or after a
   * moment: a disk that stands still must not keep readers waiting.
   */
  async settled(): Promise<void> {
    const pending = Array.from(this.#live.values(), ({ writer }) => writer.settled);
    const unsettled = pending.filter((settled) => settled !== undefined);
    if (unsettled.length === 0) return;
    await Promise.race([Promise.all(unsettled), sleep(SETTLE_MS, undefined, { ref: false })]);
  }

  /** Does for a task what must not be lost because the storage fails for a moment. */
  keepTrying<T>({ taskId }: TaskName, work: () => Promise<T>): Promise<T | undefined> {
    return keepTrying(work, {
      isOver: () => this.#closing.signal.aborted,
      onError: (error) => this.#storageFailed(taskId, error),
    });
  }

  /** Whether new work is refused. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Fires when the process gives up what it has not finished. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Takes no new work, and resolves when what is under way is done, or after the given time. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    const deadline = performance.now() + withinMs;
    while (this.running > 0 && performance.now() < deadline) await sleep(DRAIN_LOOK_MS);
  }

  /** Stops every run. What they leave unfinished is for the next process to go on with. */
  close(): void {
    this.#isDraining = true;
    this.#closing.abort();
    this.alarm.close();
    for (const { writer, run } of this.#live.values()) {
      writer.close();
      run?.abort(new Error("the server is stopping"));
    }
    this.#live.clear();
  }

  #admit(
    writer: TaskWriter,
    facts: Pick<TaskRecord, "owner" | "contextId" | "createdAt"> & { readonly oldest: Seq },
  ): LiveTask {
    const { owner, contextId, createdAt, oldest } = facts;
    const live = new LiveTask({
      owner,
      contextId,
      writer,
      deadline: taskDeadline(this.agent.info, createdAt),
      oldest,
      onWakeWanted: (at) => this.alarm.want(at),
    });
    if (!isTerminal(writer.nextState)) this.#live.set(writer.taskId, live);
    return this.hold(live);
  }

  /** Forgets a run that waits. Its generator is left where it stands: no code of the user runs. */
  #drop(live: LiveTask): void {
    live.run = undefined;
    live.writer.fence();
    this.#forget(live);
  }

  #writer({ owner, ...options }: WriterFacts): TaskWriter {
    return new TaskWriter({
      ...options,
      backend: this.backend,
      onStorageError: (error) => this.#storageFailed(options.taskId, error),
      onEnded: () => {
        this.openTasks.remove(owner);
        this.onTaskEnded();
      },
    });
  }

  #storageFailed(taskId: string, error: unknown): void {
    this.logger.error("the storage failed, trying again", { taskId, error });
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

interface TaskName {
  readonly taskId: string;
}

interface StatusExtra {
  readonly message?: Message;
  readonly trace?: TraceContext | undefined;
  readonly metadata?: Metadata;
}
