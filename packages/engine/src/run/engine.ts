import {
  type Agent,
  type AgentEvent,
  type Message,
  type Metadata,
  ServerStopping,
  type TaskState,
  type TraceContext,
  isTerminal,
} from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../logging/logger.ts";
import type { PushRules } from "./push-rules.ts";
import { Alarm } from "./alarm.ts";
import type { Backend, TaskRecord } from "../log/backend.ts";
import { explainFailure } from "./explain-failure.ts";
import { keepTrying } from "../task/keep-trying.ts";
import { type Limits, limitsOf } from "../task/limits.ts";
import type { LiveTask } from "./live-task.ts";
import { LiveTasks } from "./live-tasks.ts";
import { OpenTasks } from "../task/open-tasks.ts";
import { ParkedRuns } from "./parked-runs.ts";
import { Readers } from "../task/readers.ts";
import { Run } from "./run.ts";
import { statusEvent } from "../task/status-event.ts";
import { TaskClock } from "../task/task-clock.ts";
import { traceFields } from "../task/trace-fields.ts";
import type { TurnFacts } from "./turn.ts";

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
  /** Whether callers may stream answers. Default true. */
  readonly streaming?: boolean;
  /** Creates the service that delivers push notifications. Without it nothing is pushed. */
  readonly push?: (engine: Engine) => PushRules;
  /** Acts on a task whose time has come: a deadline, the end of a wait or of a sleep. */
  readonly wake: (engine: Engine, record: TaskRecord, at: number) => Promise<void>;
}

/**
 * Runs the agent on the tasks of this process (`live-tasks`). What happens to a
 * task is in the files beside it:
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
  /** Absent if this engine delivers no push notifications. */
  readonly pushRules: PushRules | undefined;
  /** Whether callers may stream answers. */
  readonly streams: boolean;
  readonly tasks: LiveTasks;
  readonly #parked: ParkedRuns;
  readonly #onTaskEnded = new Set<() => void>();
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
    this.streams = options.streaming !== false;
    this.tasks = new LiveTasks({
      backend: options.backend,
      info: options.agent.info,
      onEnded: (owner) => {
        this.openTasks.remove(owner);
        for (const listener of this.#onTaskEnded) listener();
      },
      onStorageError: (taskId, error) => this.#storageFailed(taskId, error),
      onWakeWanted: (at) => this.alarm.want(at),
    });
    this.#parked = new ParkedRuns(options.maxParkedRuns, (live) => this.#drop(live));
    this.alarm = new Alarm({
      tasks: options.backend.tasks,
      now: this.now,
      wake: (record, at) => options.wake(this, record, at),
      onError: (error) => this.logger.error("a timer failed, trying again", { error }),
    });
    this.pushRules = options.push?.(this);
  }

  /** Calls the listener each time a task ends. Returns how to stop. */
  onTaskEnded(listener: () => void): () => void {
    this.#onTaskEnded.add(listener);
    return () => this.#onTaskEnded.delete(listener);
  }

  /** The time for what is written now. */
  readonly now = (): number => this.clock.now();

  /** How many tasks have an agent at work. */
  get running(): number {
    let count = 0;
    for (const { run } of this.tasks.values()) if (run?.isParked === false) count++;
    return count;
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
      this.tasks.letGo(live);
    });
    return run;
  }

  /** A status in the engine's own name. */
  status(live: LiveTask, state: TaskState, extra: StatusExtra = {}): AgentEvent {
    const { message, trace, metadata } = extra;
    const all = { ...metadata, ...traceFields(trace) };
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
    const pending = Array.from(this.tasks.values(), ({ writer }) => writer.settled);
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
    for (const { writer, run } of this.tasks.values()) {
      writer.close();
      run?.abort(new ServerStopping());
    }
    this.tasks.clear();
  }

  /** Forgets a run that waits. Its generator is left where it stands: no code of the user runs. */
  #drop(live: LiveTask): void {
    live.run = undefined;
    live.writer.fence();
    this.tasks.forget(live);
  }

  #storageFailed(taskId: string, error: unknown): void {
    this.logger.error("the storage failed, trying again", { taskId, error });
  }
}

interface TaskName {
  readonly taskId: string;
}

interface StatusExtra {
  readonly message?: Message;
  readonly trace?: TraceContext | undefined;
  readonly metadata?: Metadata;
}
