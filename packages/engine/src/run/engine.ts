import {
  A2AError,
  type Agent,
  type AgentEvent,
  isTerminal,
  type Message,
  type Metadata,
  ServerStopping,
  type TaskState,
  type TraceContext,
} from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../logging/logger.ts";
import type { PushRules } from "./push-rules.ts";
import { Alarm } from "./alarm.ts";
import type { Backend, TaskRecord } from "../log/backend.ts";
import { keepTrying } from "../task/keep-trying.ts";
import { LimitError, type Limits, limitsOf } from "../task/limits.ts";
import type { LiveTask } from "./live-task.ts";
import { LiveTasks } from "./live-tasks.ts";
import { Readers } from "../task/readers.ts";
import { type Failure, Run } from "./run.ts";
import { statusEvent } from "../task/status-event.ts";
import { TaskClock } from "../task/task-clock.ts";
import { traceFields } from "../task/trace-fields.ts";
import type { TurnFacts } from "./turn.ts";
import { newErrorId } from "../logging/error-id.ts";
import { StateError } from "../task/speculative-state.ts";

const DEFAULT_MAX = 1000;

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

/**
 * What a failed task may say. Words that an agent chose on purpose are kept;
 * the text of any other error may hold secrets, so it goes to the log, and the
 * task carries the id to find it there.
 */
function explainFailure(error: unknown, taskId: string, logger: Logger): Failure {
  if (A2AError.is(error)) return { text: error.detail, metadata: { reason: "agent-error" } };
  if (error instanceof LimitError) {
    const { limit, message } = error;
    logger.warn("the agent reached a limit", { taskId, limit });
    const text = `The agent reached a limit of this server: ${message}.`;
    return { text, metadata: { reason: "limit", limit } };
  }
  const errorId = newErrorId();
  logger.error("the agent failed", { taskId, errorId, error });
  const text =
    error instanceof StateError
      ? `The agent broke the order of states: ${error.message}.`
      : `The agent failed. The server's log has the cause under error ${errorId}.`;
  return { text, metadata: { reason: "agent-error", errorId } };
}

/**
 * Runs that wait for an answer or a time. Each keeps its generator, so going on
 * costs nothing; there are at most so many, and the one that has waited longest
 * makes room. What it had noted is in the log, and its turn is begun anew.
 */
class ParkedRuns {
  readonly #max: number;
  readonly #drop: (live: LiveTask) => void;
  readonly #parked = new Set<LiveTask>();

  constructor(max: number = DEFAULT_MAX, drop: (live: LiveTask) => void) {
    this.#max = max;
    this.#drop = drop;
  }

  add(live: LiveTask): void {
    this.#parked.delete(live);
    this.#parked.add(live);
    if (this.#parked.size > this.#max) setImmediate(() => this.#makeRoom());
  }

  /**
   * Not before the run's last words are committed: they are what it will be
   * begun anew from. Nor while someone is about to let it go on: it would go on
   * without the right to write.
   */
  #makeRoom(): void {
    for (const live of this.#parked) {
      if (this.#parked.size <= this.#max) return;
      if (live.holders > 0) continue;
      this.#parked.delete(live);
      const { run } = live;
      if (run?.isParked !== true) continue;
      void run.settled.then(() => {
        if (live.run !== run || !run.isParked) return;
        if (live.holders > 0) this.#parked.add(live);
        else this.#drop(live);
      });
    }
  }
}

/** How many tasks of each owner have not ended. */
class OpenTasks {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a task that an earlier process began. */
  add(owner: string): void {
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
  }

  /** Counts a task that is about to be created, or refuses it. */
  admit(owner: string): void {
    if ((this.#counts.get(owner) ?? 0) < this.#most) return this.add(owner);
    const problem = `you have ${this.#most} unfinished tasks (the limit openTasks): answer or cancel some first`;
    throw new A2AError("TooManyRequests", problem, {
      details: { limit: "openTasks", most: String(this.#most) },
    });
  }

  remove(owner: string): void {
    const count = (this.#counts.get(owner) ?? 0) - 1;
    if (count > 0) this.#counts.set(owner, count);
    else this.#counts.delete(owner);
  }
}
