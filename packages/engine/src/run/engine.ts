import {
  A2AError,
  type Agent,
  AgentChanged,
  type AgentEvent,
  type Caller,
  type Message,
  type Metadata,
  type Metrics,
  NO_METRICS,
  type TaskState,
  type TraceContext,
  type TracingOptions,
  isTerminal,
} from "@convoke/protocol";
import { ShortLivedSet } from "@convoke/protocol/internal";
import { setTimeout as sleep } from "node:timers/promises";
import { Audit, type AuditStore } from "../logging/audit.ts";
import { type Logger, newErrorId } from "../logging/logger.ts";
import { WakeTimer, type WakingTask } from "./wake-timer.ts";
import type { Backend, ContextQuery, NewPush, PushRecord } from "../log/backend.ts";
import type { NewMailboxEntry, PostResult, Sharing, WaitingForHost } from "../log/sharing.ts";
import { type FileOptions, type LinkOptions, TaskFiles } from "../files/task-files.ts";
import type { AgentKey } from "../task/agent-key.ts";
import { keepTrying } from "../task/keep-trying.ts";
import {
  LimitError,
  type Limits,
  OpenStreams,
  OpenTasks,
  SharedOpenTasks,
  resolveLimits,
} from "../task/limits.ts";
import { Agents, type ServedAgent } from "./agents.ts";
import type { LiveTask } from "./live-task.ts";
import { LiveTasks, type TaskChange, type TaskScope, agentFilter } from "./live-tasks.ts";
import { ParkedRuns } from "./parked-runs.ts";
import { type Failure, Run, type RunHooks } from "./run.ts";
import { StateError, createStatusEvent, traceFields } from "../task/status.ts";
import { StorageHealth } from "../task/storage-health.ts";
import { TaskClock } from "../task/task-clock.ts";
import { resolveTracing } from "../tracing/tracing-options.ts";
import { recordTaskSpan } from "./run-span.ts";
import type { TurnFacts } from "./turn.ts";

/** How often to check whether halted runs can be given up. */
const HALT_CHECK_MS = 10;

/** How much longer than a drain the storage may take to commit what has ended in time. */
const LAST_COMMITS_MS = 5000;

/** How long a list waits for pending writes. */
const SETTLE_MS = 1000;

/** Validates push configs and delivers their notifications. Implemented by `PushService`. */
export interface PushRules {
  /** The maximum number of configs per task. */
  readonly maxConfigs: number;
  /** Throws if notifications must not be sent to the URL; the message says why. */
  check(url: string): void;
  /** Called after a config was created or replaced. */
  changed(record: PushRecord): void;
  /** Called when a config is deleted: nothing more is delivered for it. */
  deleted(taskId: string, id: string): void;
}

/** Passes messages and cancels to the process that works on a task. Implemented by `SharedTasks`. */
export interface SharingRules {
  /**
   * Resolves when the process that works on the task has handled the entry, or has refused it. If
   * there is no such process, this one takes the task over and the entry is still to be handled.
   */
  forward(live: LiveTask, entry: NewMailboxEntry): Promise<Forwarded>;
  /** Tasks that wait for a host without a process, as they were counted a few seconds ago. */
  readonly waitingForHosts: readonly WaitingForHost[];
  /** Continues a task from what is stored, unless another process works on it. */
  setBack(taskId: string): void;
  /** Lets other processes claim tasks of this one. Nothing may write to them any more. */
  release(taskIds: readonly string[]): Promise<void>;
}

/** What became of an entry for another process. */
export type Forwarded =
  | { readonly kind: "handled" | "claimed" }
  | Exclude<PostResult, { readonly kind: "posted" }>;

export interface EngineOptions {
  /**
   * The agent, or several that share the storage: then each has its own tasks, conversations and
   * message ids, and others can be added later.
   */
  readonly agent: Agent | readonly Agent[];
  readonly backend: Backend;
  readonly logger: Logger;
  /** Where large files are kept, and how clients get them. */
  readonly files?: FileOptions | undefined;
  /** Creates links to large files. Default: clients get all files as bytes. */
  readonly fileLinks?: LinkOptions | undefined;
  /**
   * Which stored tasks belong to a single agent. Default: those with its `id`, or with the id that
   * its name gives. Tasks of other agents can be read and canceled, and are otherwise left alone.
   */
  readonly key?: AgentKey | undefined;
  /** Keeps audit entries in addition to the log. Default: only the log has them. */
  readonly audit?: AuditStore | undefined;
  /** Receives measurements. Default: nothing is measured. */
  readonly metrics?: Metrics | undefined;
  /** What spans contain, if the process has an OpenTelemetry SDK. */
  readonly tracing?: TracingOptions | undefined;
  /** The clock, in milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
  /** Maximum number of suspended runs in memory. Default 1000. Others resume from their journal. */
  readonly maxParkedRuns?: number;
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits>;
  /** Whether clients can stream answers. Default true. */
  readonly streaming?: boolean;
  /** Whether the completed status of every agent repeats its answer as a message. Default false. */
  readonly finalMessage?: boolean | undefined;
  /**
   * Which messages are processed once per messageId. Default "extension": those of callers that
   * activate the idempotency extension. "always": all.
   */
  readonly idempotency?: "extension" | "always";
  /** Whether a mistake in the code of an agent fails its task instead of being logged. Default false. */
  readonly isStrict?: boolean;
  /**
   * How long a task that was created without a message waits for its first one before it is
   * canceled, in milliseconds. Default 24 h.
   */
  readonly emptyTaskMs?: number | undefined;
  /** Creates the service that delivers push notifications. Without it nothing is pushed. */
  readonly push?: (engine: Engine) => PushRules;
  /** Creates what works together with other processes, if the storage is shared. */
  readonly sharing?: (engine: Engine, sharing: Sharing) => SharingRules;
  /** Handles a due task: its deadline, the end of its wait for an answer, or the end of its sleep. */
  readonly wake: (engine: Engine, record: WakingTask, at: number) => Promise<void>;
}

/**
 * Runs the agents (`agents.ts`) on the open tasks (`live-tasks.ts`). The events in the life of a
 * task have files of their own: `accept-message`, `resume-task`, `end-task`,
 * `wake-task`, `recover`.
 */
export class Engine {
  readonly agents: Agents;
  readonly backend: Backend;
  readonly files: TaskFiles;
  readonly clock: TaskClock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing: Required<TracingOptions>;
  readonly audit: Audit;
  readonly wakeTimer: WakeTimer;
  readonly storage: StorageHealth;
  readonly limits: Limits;
  readonly openTasks: OpenTasks | SharedOpenTasks;
  readonly openStreams: OpenStreams;
  /** Absent if this engine delivers no push notifications. */
  readonly pushRules: PushRules | undefined;
  /** Absent if no other process uses the storage. */
  readonly sharing: SharingRules | undefined;
  /** Whether clients can stream answers. */
  readonly streams: boolean;
  /** Whether a repeated messageId is a retry for every caller. */
  readonly isIdempotent: boolean;
  /** How long a task waits for its first message. */
  readonly emptyTaskMs: number;
  readonly tasks: LiveTasks;
  readonly #parked: ParkedRuns;
  readonly #finalMessage: boolean;
  readonly #runHooks: RunHooks;
  readonly #onTaskEnded = new Set<() => void>();
  readonly #onTaskStatus = new Set<(change: TaskChange) => void>();
  #isDraining = false;
  readonly #closing = new AbortController();
  readonly #onClose = new ShortLivedSet<() => void>();

  constructor(options: EngineOptions) {
    const isShared = options.backend.sharing !== undefined;
    this.agents = new Agents(options.agent, options.key, options.logger, isShared);
    this.backend = options.backend;
    this.logger = options.logger;
    this.files = new TaskFiles({
      store: options.files?.store ?? options.backend.blobs,
      options: options.files,
      links: options.fileLinks,
      logger: options.logger,
    });
    this.metrics = options.metrics ?? NO_METRICS;
    this.tracing = resolveTracing(options.tracing);
    this.audit = new Audit(options.logger, { store: options.audit, closing: this.closing });
    this.storage = new StorageHealth(options.logger, this.metrics);
    this.clock = new TaskClock(options.now ?? Date.now);
    this.limits = resolveLimits(options.limits);
    this.openTasks =
      options.backend.sharing === undefined
        ? new OpenTasks(this.limits.openTasks)
        : new SharedOpenTasks(this.limits.openTasks, options.backend.tasks);
    this.openStreams = new OpenStreams(this.limits);
    this.streams = options.streaming !== false;
    this.#runHooks = this.#createRunHooks(options.isStrict === true);
    this.#finalMessage = options.finalMessage === true;
    this.isIdempotent = options.idempotency === "always";
    this.emptyTaskMs = checkEmptyTaskMs(options.emptyTaskMs);
    this.tasks = new LiveTasks({
      backend: options.backend,
      agents: this.agents,
      files: this.files,
      onEnded: ({ taskId, owner, state }) => {
        this.openTasks.remove(owner);
        this.metrics.count("tasksEnded", [state]);
        const live = this.tasks.get(taskId);
        if (live !== undefined) recordTaskSpan(this.backend, live);
        for (const listener of this.#onTaskEnded) listener();
      },
      onStatus: (change) => {
        for (const listener of this.#onTaskStatus) listener(change);
      },
      onStorageError: (error, taskId) => this.storage.failed(error, taskId),
      onStored: (taskId) => this.storage.worked(taskId),
      onSetBack: (taskId) => this.sharing?.setBack(taskId),
      keepTrying: (taskId, work) => this.keepTrying({ taskId }, work),
      onWakeAt: (at) => this.wakeTimer.schedule(at),
    });
    this.#parked = new ParkedRuns(options.maxParkedRuns, (live) => this.#evict(live));
    this.wakeTimer = new WakeTimer({
      tasks: options.backend.sharing === undefined ? options.backend.tasks : this.tasks,
      now: this.now,
      isOwn: (record) => this.agents.of(record) !== undefined && !this.tasks.isElsewhere(record),
      wake: (record, at) => options.wake(this, record, at),
      onError: (error) => this.logger.error("a timer failed, trying again", { error }),
    });
    this.pushRules = options.push?.(this);
    const { sharing } = options.backend;
    this.sharing = sharing && options.sharing?.(this, sharing);
    const stop = this.metrics.collect((add) => {
      add("openStreams", this.openStreams.total);
      add("tasksUnfinished", this.openTasks.total);
      add("tasksRunning", this.running);
      for (const { host, tasks } of this.sharing?.waitingForHosts ?? []) {
        add("tasksWaitingForHost", tasks, [host]);
      }
    });
    this.closing.addEventListener("abort", stop, { once: true });
  }

  /** Calls the listener each time a task ends. Returns a function that removes it. */
  onTaskEnded(listener: () => void): () => void {
    this.#onTaskEnded.add(listener);
    return () => this.#onTaskEnded.delete(listener);
  }

  /** Calls the listener with each new status of a listed task. Returns a function that removes it. */
  onTaskStatus(listener: (change: TaskChange) => void): () => void {
    this.#onTaskStatus.add(listener);
    return () => this.#onTaskStatus.delete(listener);
  }

  /** The time for a write that happens now. */
  readonly now = (): number => this.clock.now();

  /**
   * The tasks that a caller of an agent can see. Of several agents each shows only its own tasks;
   * without an agent those of all are meant.
   */
  scope({ owner }: Pick<Caller, "owner">, agent: ServedAgent | undefined): TaskScope {
    return { owner, agent: this.agents.areSeveral ? agent : undefined };
  }

  /** The tasks before a task in its conversation. Of several agents each has its own conversations. */
  contextOf({ owner, contextId, agent, position }: EarlierTasks): Omit<ContextQuery, "limit"> {
    return { owner, contextId, before: position, ...agentFilter(this.scope({ owner }, agent)) };
  }

  /** The host on which a new task of the agent has to run, if it is a local one. */
  hostOf({ info }: ServedAgent): string | undefined {
    return info.local === true ? this.backend.sharing?.host : undefined;
  }

  /** The number of tasks on which agents are working. */
  get running(): number {
    let count = 0;
    for (const { run } of this.tasks.values()) if (run?.isParked === false) count++;
    return count;
  }

  /**
   * Starts the agent of a task on a turn, unless the task was canceled or ended meanwhile, the agent
   * is not served here, or the engine stops: then the next process finds the task.
   */
  start(live: LiveTask, facts: TurnFacts): Run | undefined {
    const { writer, agent } = live;
    if (this.#isDraining) return undefined;
    if (writer.epoch !== facts.epoch || isTerminal(writer.nextState)) return undefined;
    if (agent === undefined) return undefined;
    const run = new Run({
      agent: agent.definition,
      limits: this.limits,
      finalMessage: this.#finalMessage || agent.info.finalMessage === true,
      tracing: this.tracing,
      files: this.files,
      live,
      facts,
      now: this.now,
      hooks: this.#runHooks,
    });
    agent.runStarted(run.parking);
    live.attachRun(run);
    return run;
  }

  #createRunHooks(isStrict: boolean): RunHooks {
    return {
      onPark: (live) => this.#parked.add(live),
      onEnded: (run, live) => {
        live.agent?.runEnded(run.parking);
        live.detachRun(run);
        this.tasks.closeIfIdle(live);
      },
      warn: (message, { writer, agent }, { isMistake = false } = {}) => {
        if (isMistake && isStrict) throw new TypeError(message);
        this.logger.warn(message, { taskId: writer.taskId, agentId: agent?.id });
      },
      explain: (error, live) => explainFailure(error, live, this.logger),
    };
  }

  /** Creates a status event on behalf of the engine. */
  status(live: LiveTask, state: TaskState, extra: StatusExtra = {}): AgentEvent {
    const { message, trace, metadata } = extra;
    const all = { ...metadata, ...traceFields(trace) };
    return createStatusEvent({
      taskId: live.writer.taskId,
      contextId: live.contextId,
      state,
      timestamp: live.writer.statusTime(this.now()),
      ...(message && { message }),
      ...(Object.keys(all).length > 0 && { metadata: all }),
    });
  }

  /**
   * Resolves when all pending writes are stored, or after a short time: a stalled
   * disk must not block readers.
   */
  async settled(): Promise<void> {
    const pending = Array.from(this.tasks.values(), ({ writer }) => writer.settled);
    const unsettled = pending.filter((settled) => settled !== undefined);
    const others = this.backend.sharing?.settled(this.now());
    if (others !== undefined) unsettled.push(others);
    if (unsettled.length === 0) return;
    await Promise.race([Promise.all(unsettled), sleep(SETTLE_MS, undefined, { ref: false })]);
  }

  /** Retries an operation on a task until the storage works again. */
  async keepTrying<T>({ taskId }: TaskName, work: () => Promise<T>): Promise<T | undefined> {
    const result = await keepTrying(work, {
      isOver: () => this.#closing.signal.aborted,
      onError: (error) => this.storage.failed(error, taskId),
    });
    this.storage.worked(taskId);
    return result;
  }

  /**
   * Starts delivery for a push config that was stored with a message. If the config cannot be read
   * before the engine closes, the next start finds it.
   */
  startPush(taskId: string, { id }: NewPush): void {
    void this.keepTrying({ taskId }, async () => {
      const record = await this.backend.pushes.get(taskId, id);
      if (record !== undefined) this.pushRules?.changed(record);
    });
  }

  /** Whether new work is rejected. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Why requests should go elsewhere; `undefined` if they are welcome. */
  get unreadyReason(): "draining" | "storage" | "lease" | undefined {
    if (this.#isDraining) return "draining";
    // Other processes may take over its tasks, because it has not reached the shared storage in time.
    if (this.backend.sharing?.isHeld() === false) return "lease";
    return this.storage.isFailing ? "storage" : undefined;
  }

  /** Fires when the engine stops without finishing its tasks. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Rejects new work, and halts all runs, also those of agents that these run in this process. */
  async drain(withinMs: number): Promise<void> {
    this.#isDraining = true;
    // A task that wakes now would only begin something.
    this.wakeTimer.close();
    const agents = Array.from(this.agents, (agent) => agent.drain(withinMs));
    await Promise.all([this.#halt(withinMs), ...agents]);
  }

  /**
   * Calls the listener when the engine closes. Returns a function that removes it. Cheaper than a
   * listener of `closing`, which matters because every request that waits for an answer has one.
   */
  onClose(listener: () => void): () => void {
    if (this.#closing.signal.aborted) listener();
    const waiting = this.#onClose.add(listener);
    return () => this.#onClose.delete(waiting);
  }

  /**
   * Gives up all runs, each as soon as nothing of it is under way any more: from now on
   * nothing begins, and what has begun may end. What takes longer than the given time is cut, and the
   * log names it. Resolves when everything that has ended is committed.
   */
  async #halt(withinMs: number): Promise<void> {
    const { tasks } = this;
    const some = (is: (live: LiveTask) => boolean): boolean => Array.from(tasks.values()).some(is);
    const until = performance.now() + withinMs;
    const isTooLate = (): boolean =>
      this.storage.isFailing || performance.now() > until + LAST_COMMITS_MS;
    for (const { run } of tasks.values()) run?.halt();
    // What ends in this turn of the event loop is not written yet.
    for (let pauseMs = 0; ; pauseMs = HALT_CHECK_MS) {
      await sleep(pauseMs);
      for (const live of tasks.values())
        if (!isAtWork(live) && !isStarting(live)) this.#leave(live);
      if (!some(isAtWork) || performance.now() >= until) break;
    }
    while (some(isStarting) && !isTooLate()) await sleep(HALT_CHECK_MS);
    for (const live of tasks.values()) {
      if (isAtWork(live)) this.#logCut(live, withinMs);
      this.#leave(live);
    }
    while (some(isCommitting) && !isTooLate()) await sleep(HALT_CHECK_MS);
  }

  /** Gives up the run of a task. In a shared storage, the task then continues elsewhere. */
  #leave(live: LiveTask): void {
    const { run, writer } = live;
    if (run === undefined || run.isParked) return;
    live.abandonRun();
    void run.settled
      .then(() => this.sharing?.release([writer.taskId]))
      // It is released when the engine has stopped.
      .catch((error: unknown) => this.storage.failed(error));
  }

  #logCut({ writer, agent, run }: LiveTask, drainMs: number): void {
    this.logger.warn("what a task was doing took longer than the drain and was cut", {
      taskId: writer.taskId,
      agentId: agent?.id,
      work: run?.underWay,
      drainMs,
    });
  }

  /**
   * Gives up all runs without ending their tasks. The next process recovers them as after a crash:
   * resumed, restarted, or failed as `interrupted`.
   */
  close(): void {
    this.#isDraining = true;
    this.#closing.abort();
    this.#onClose.forEach((listener) => listener());
    this.#onClose.clear();
    this.wakeTimer.close();
    this.tasks.stop();
  }

  /** Evicts a suspended run. Its generator is abandoned where it is suspended, so no user code runs. */
  #evict(live: LiveTask): void {
    if (live.run !== undefined) live.agent?.runEnded(live.run.parking);
    live.detachRun();
    live.writer.fence();
    this.tasks.close(live);
  }
}

/** Whether its agent has begun something that would be lost if the run was given up. */
function isAtWork({ run }: LiveTask): boolean {
  return run !== undefined && run.underWay.length > 0;
}

/** Whether it is being stored that its agent begins something, or that it has not begun. */
function isStarting({ run }: LiveTask): boolean {
  return run?.isStarting === true;
}

/** Whether something of it is on its way to the log. */
function isCommitting({ writer }: LiveTask): boolean {
  return writer.settled !== undefined;
}

const DEFAULT_EMPTY_TASK_MS = 24 * 60 * 60 * 1000;

function checkEmptyTaskMs(ms = DEFAULT_EMPTY_TASK_MS): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw new RangeError(`emptyTaskMs must be a number of milliseconds above 0, not ${ms}`);
}

type EarlierTasks = Pick<LiveTask, "owner" | "contextId" | "agent" | "position">;

interface TaskName {
  readonly taskId: string;
}

interface StatusExtra {
  readonly message?: Message;
  readonly trace?: TraceContext | undefined;
  readonly metadata?: Metadata;
}

/**
 * The text of a failed task. The text of an `A2AError` was chosen by the agent for
 * the caller. Any other error may contain secrets, so it is only logged, and the
 * task has the id to find it in the log.
 */
function explainFailure(error: unknown, { writer, agent }: LiveTask, logger: Logger): Failure {
  const task = { taskId: writer.taskId, agentId: agent?.id };
  if (A2AError.is(error)) return { text: error.detail, metadata: { reason: "agent-error" } };
  if (error instanceof LimitError) {
    const { limit, message } = error;
    logger.warn("the agent reached a limit", { ...task, limit });
    const text = `The agent reached a limit of this server: ${message}.`;
    return { text, metadata: { reason: "limit", limit } };
  }
  if (AgentChanged.is(error)) {
    const { recorded, requested } = error;
    logger.error("a task no longer fits its agent, which was changed", {
      ...task,
      recorded,
      requested,
    });
    const text =
      "The agent was changed while this task was open, and the task does not fit it any more. " +
      "Please start again with a new task.";
    return { text, metadata: { reason: "changed" } };
  }
  const errorId = newErrorId();
  logger.error("the agent failed", { ...task, errorId, error });
  const text =
    error instanceof StateError
      ? `The agent broke the order of states: ${error.message}.`
      : `The agent failed. The server's log has the cause under error ${errorId}.`;
  return { text, metadata: { reason: "agent-error", errorId } };
}
