import {
  type AgentEvent,
  ENGINE_EVENTS,
  ServerStopping,
  agentMessage,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { BackoffOptions } from "@convoke/protocol/internal";
import type { TaskRecord } from "../log/backend.ts";
import type { ClaimedTask } from "../log/sharing.ts";
import type { WakingTask } from "../run/wake-timer.ts";
import { type EndReason, abandonTask, abandonTurn, cancelLive, endTask } from "./end-task.ts";
import type { Engine } from "../run/engine.ts";
import type { TaskScope } from "../run/live-tasks.ts";
import { type LiveTask, isEmpty } from "../run/live-task.ts";
import { type Crashes, loggedCrashes, resumeTask } from "../run/resume-task.ts";
import { AttemptQueue } from "./attempt-queue.ts";
import {
  type TurnLog,
  type TurnLogAndSnapshot,
  readTurnLog,
  turnEndedAt,
} from "../log/turn-log.ts";
import { storedAgentId } from "../task/agent-key.ts";
import { earliest } from "../task/task-clock.ts";

const PAGE = 256;

/** How often a turn is started again that made no progress before its process ended. */
const MAX_CRASHES = 5;

export const CRASH_BACKOFF = { firstMs: 1000, longestMs: 60_000 };

/** What happened to the unfinished tasks of an earlier process. */
export interface RecoveryReport {
  /** How many were resumed, or queued to resume. */
  readonly resumed: number;
  /** How many ended as `interrupted`, `crashed` or canceled. */
  readonly ended: number;
  /** How many still wait for an answer or a time, or are paused. */
  readonly waiting: number;
  /** Tasks of agents that are not served here. They are left as they are. */
  readonly others: readonly OtherAgentTasks[];
}

/** Of a shared storage: other processes may work on its tasks, and others are claimed one by one. */
export const NOTHING_RECOVERED: RecoveryReport = { resumed: 0, ended: 0, waiting: 0, others: [] };

/** The unfinished tasks of an agent that is not served here. */
export interface OtherAgentTasks {
  readonly agentId: string;
  /** The name of the agent when the first of the tasks was created. */
  readonly agent: string;
  readonly tasks: number;
}

type Outcome = "resumed" | "ended" | "waiting";

export interface RecoverOptions {
  /**
   * Whether runs that the earlier process left resume at once. Default true. If false they stay
   * paused until `resumePausedTask`.
   */
  readonly resume?: boolean;
  /**
   * How long a task waits that has made no progress in two or more processes that crashed, and may
   * be the reason. Default: one second, then twice as long each time.
   */
  readonly crashBackoff?: BackoffOptions;
}

/**
 * Takes over the unfinished tasks of an earlier process (G3: a crash loses no
 * task). Resolves when each of them is ended, waiting, or queued to resume.
 */
export async function recover(
  engine: Engine,
  { resume = true, crashBackoff = CRASH_BACKOFF }: RecoverOptions = {},
): Promise<RecoveryReport> {
  const recovered = { resumed: 0, ended: 0, waiting: 0 };
  const others = new Map<string, OtherAgentTasks>();
  const queue = new AttemptQueue(engine, crashBackoff);
  const takeOverPage = async (own: readonly TaskRecord[]): Promise<void> => {
    for (const outcome of await takeOverAll(engine, own, { queue, resume })) recovered[outcome]++;
  };
  let earlier: Promise<void> | undefined;
  for (let after = ""; ;) {
    const records = await engine.backend.tasks.unfinished(after, PAGE);
    const isOwn = (record: TaskRecord): boolean => engine.agents.of(record)?.owns(record) === true;
    const [own, foreign] = partition(records, isOwn);
    for (const { owner } of records) engine.openTasks.add(owner);
    for (const record of foreign) {
      const agentId = storedAgentId(record);
      const { agent, tasks } = others.get(agentId) ?? { agent: record.agent, tasks: 0 };
      others.set(agentId, { agentId, agent, tasks: tasks + 1 });
    }
    // The ends of one page are stored while the next one is read: that is for two cores.
    const page = takeOverPage(own);
    await Promise.all([earlier, Promise.race([page, nextTurn()])]);
    earlier = page;
    if (records.length < PAGE) break;
    after = records.at(-1)?.taskId ?? after;
  }
  await earlier;
  await engine.wakeTimer.start();
  const report = { ...recovered, others: [...others.values()] };
  if (others.size > 0) {
    engine.logger.warn(
      "unfinished tasks belong to agents that are not served here and are left alone",
      { agentId: Array.from(engine.agents, ({ id }) => id).join(", "), others: report.others },
    );
  }
  return report;
}

function partition<T>(
  items: readonly T[],
  matches: (item: T) => boolean,
): [matching: readonly T[], rest: readonly T[]] {
  return [items.filter(matches), items.filter((item) => !matches(item))];
}

interface TakeOverOptions {
  readonly queue: AttemptQueue;
  readonly resume: boolean;
}

/**
 * Takes over the tasks of a page. Their logs are read one after the other, so that the events of one
 * are garbage before those of the next one are in memory.
 */
function takeOverAll(
  engine: Engine,
  records: readonly TaskRecord[],
  how: TakeOverOptions,
): Promise<readonly Outcome[]> {
  let reading: Promise<unknown> = Promise.resolve();
  const taken = records.map((record) => {
    const read = reading.then(() => readTurnLog(engine.backend, record.taskId));
    reading = read;
    return takeOver(engine, record, read, how);
  });
  return Promise.all(taken);
}

async function takeOver(
  engine: Engine,
  record: TaskRecord,
  read: Promise<TurnLogAndSnapshot>,
  how: TakeOverOptions,
): Promise<Outcome> {
  const { log, snapshot } = await read;
  const live = engine.tasks.openSnapshot(record, snapshot);
  try {
    const isAfterCrash = engine.backend.isAfterCrash === true;
    const crashes = { count: log.crashes + (isAfterCrash ? 1 : 0), lost: [] };
    return await decide(engine, live, { record, log, crashes, ...how });
  } finally {
    engine.tasks.release(live);
  }
}

interface TakeOver {
  /** A time before it was claimed, by `performance.now()`. */
  readonly at: number;
  readonly queue: AttemptQueue;
  /** Entries of its mailbox that ask to cancel it. */
  readonly cancels: readonly string[];
}

/**
 * Takes over a task that this process has claimed from another one.
 */
export async function takeOverClaimed(
  engine: Engine,
  claimed: ClaimedTask,
  { at, queue, cancels }: TakeOver,
): Promise<void> {
  const { taskId, reason } = claimed;
  // One read is enough: if the process before still writes something, the first step is refused.
  const isOpen = engine.tasks.get(taskId) !== undefined;
  const read = isOpen || reason === "due" ? undefined : await readTurnLog(engine.backend, taskId);
  const live = await engine.tasks.openClaimed(claimed, at, read?.snapshot);
  const { writer } = live;
  try {
    // It was claimed again since: by another request of this process, or by another process.
    if (writer.position.epoch !== claimed.epoch) return;
    if (cancels.length > 0) return await cancelLive(engine, live, cancels);
    if (reason === "due") await wake(engine, live, engine.now());
    else {
      const { log } = read ?? (await readTurnLog(engine.backend, taskId));
      const crashes = await countCrashes(engine, log, claimed);
      const facts = { record: claimed, log, queue, crashes, resume: true };
      // Its run may not have begun yet.
      if ((await decide(engine, live, facts)) === "resumed") return;
    }
    // A task that waits for its attempt is queued.
    if (live.run !== undefined || live.isQueued || !writer.isRunning) return;
    // It waits, which needs no process; or this one is stopping.
    const isServed = live.agent !== undefined && !engine.isDraining;
    const running = isServed ? false : "elsewhere";
    await writer.append([], { epoch: writer.epoch, insist: true, running });
  } finally {
    engine.tasks.release(live);
  }
}

/**
 * The crashes of a turn whose process is gone. A process may have lost its lease because the machine or
 * the database was busy. Those that have one again have not crashed.
 */
async function countCrashes(
  { backend }: Engine,
  log: TurnLog,
  { lost }: ClaimedTask,
): Promise<Crashes> {
  if (lost === undefined) return loggedCrashes(log);
  const all = [...new Set([...log.lost, lost])];
  // Versions without ids have counted the others.
  const unnamed = log.crashes - log.lost.length;
  // One crash makes no difference.
  const replicas = all.length === 1 ? [] : await backend.sharing!.replicas();
  const alive = new Set(replicas.filter(({ leaseMs }) => leaseMs > 0).map(({ id }) => id));
  const dead = all.filter((id) => !alive.has(id));
  return { count: unnamed + dead.length, lost: dead };
}

async function decide(
  engine: Engine,
  live: LiveTask,
  facts: {
    readonly record: TaskRecord;
    readonly log: TurnLog;
    readonly queue: AttemptQueue;
    readonly resume: boolean;
    readonly crashes: Crashes;
  },
): Promise<Outcome> {
  const { record, log, queue, resume, crashes } = facts;
  if (log.isCanceled) {
    abandonTurn(engine, live, log);
    await endTask(engine, live, "canceled");
    return "ended";
  }
  if (log.isEmpty) return "waiting";
  const canResume = log.isDurable || log.isUntouched || live.agent?.info.restart === true;
  const isWaiting = isInterrupted(record.state)
    ? log.isOver || (log.isAsking && !log.isAlongside)
    : log.isAsleep;
  if (isWaiting && !log.isWatched) return "waiting";
  if (!canResume) {
    const text = "The server stopped while the agent was working on this task.";
    await endTask(engine, live, "failed", { text, metadata: { reason: "interrupted" } });
    return "ended";
  }
  if (!resume) return "waiting";
  const { count } = crashes;
  if (count > MAX_CRASHES) {
    const text = `The server ended ${count} times while the agent was working on this task.`;
    const metadata = { reason: "crashed", crashes: count };
    await endTask(engine, live, "failed", { text, metadata });
    abandonTurn(engine, live, log);
    return "ended";
  }
  queue.add(live, { log, crashes });
  return "resumed";
}

/**
 * Gives up the run of a task and leaves the task as its log has it: it has not ended, and resumes
 * from its journal with `resumePausedTask` or in the next process. Nothing that the run still says is
 * stored. Does nothing if the task has no run, or waits for its caller.
 */
export function pauseTask(engine: Engine, taskId: string): void {
  const live = engine.tasks.get(taskId);
  if (live?.run === undefined) return;
  const { writer } = live;
  if (isInterrupted(writer.nextState) || isTerminal(writer.nextState) || live.isCanceled) return;
  writer.fence();
  live.abandonRun(new ServerStopping({ isSilent: false }));
  // No process works on it, so that none takes it over.
  if (engine.sharing) void writer.append([], { epoch: writer.epoch, insist: true, running: false });
  // Kept open until everything said before is stored: the next to open the task reads the log.
  engine.tasks.hold(live);
  void Promise.resolve(writer.settled).then(() => engine.tasks.release(live));
}

/** Resumes a task that was paused. Does nothing if it runs, waits for a message or has ended. */
export async function resumePausedTask(
  engine: Engine,
  taskId: string,
  scope: TaskScope,
): Promise<void> {
  const live = await engine.tasks.openFor(scope, taskId);
  const { writer } = live;
  const isPaused = (): boolean =>
    live.run === undefined &&
    !live.isQueued &&
    !isEmpty(live) &&
    !isInterrupted(writer.nextState) &&
    !isTerminal(writer.nextState);
  try {
    live.requireAgent();
    if (!isPaused()) return;
    await writer.settled;
    if (!isPaused()) return;
    const epoch = writer.fence();
    await engine.keepTrying(writer, () => resumeTask(engine, live, epoch));
  } finally {
    engine.tasks.release(live);
  }
}

/**
 * Handles a due task: its deadline, the end of its wait for an answer, or the end
 * of its sleep. The first change of state wins; an answer in the same millisecond
 * either came before, or comes too late.
 */
export async function wakeTask(engine: Engine, record: WakingTask, at: number): Promise<void> {
  const live = await engine.tasks.open(record);
  try {
    await wake(engine, live, at);
  } finally {
    engine.tasks.release(live);
  }
}

async function wake(engine: Engine, live: LiveTask, at: number): Promise<void> {
  const { writer, deadline } = live;
  // Read first: no other change may come in between the checks below and the append.
  const { isWaiting, until, timer } = await pendingQuestion(engine, live);
  if (live.isCanceled) return;
  // An answer, for example, may have changed the wake time meanwhile.
  if (isTerminal(writer.nextState) || (writer.nextWake ?? at + 1) > at) return;
  if (deadline !== undefined && at >= deadline) return timeOut(engine, live);
  if (isEmpty(live)) return endTask(engine, live, "canceled", NO_MESSAGE);
  // The wake time was set by an earlier process and does not apply to the attempt that is queued.
  if (live.isQueued) return;
  // It sets the time again when it is suspended.
  if (live.run !== undefined && !live.run.isParked) return setWakeTime(engine, live, deadline);
  const { inputTimeout } = live.requireAgent().info;
  // Never earlier than the timer's own time, even if the clock was set back in the meantime.
  const timestamp = writer.statusTime(Math.max(engine.now(), at));
  const now = Date.parse(timestamp);
  const isAsleep = timer !== undefined && timer <= now;
  if (isInterrupted(writer.nextState) && !isAsleep) {
    const expired: AgentEvent = { kind: ENGINE_EVENTS.expired, taskId: writer.taskId, timestamp };
    // The question itself expired, before the input timeout of the agent.
    if (isWaiting && until !== undefined && until <= now) {
      return resume(engine, live, timestamp, [expired, engine.status(live, "working")]);
    }
    const timeoutAt = inputTimeout && writer.statusAt + inputTimeout.ms;
    if (inputTimeout === undefined || timeoutAt === undefined || timeoutAt > now) {
      return setWakeTime(engine, live, earliest([deadline, until, timer, timeoutAt]));
    }
    return inputTimeout.onTimeout === "fail" || !isWaiting
      ? failUnanswered(engine, live, inputTimeout.ms)
      : resume(engine, live, timestamp, [
          expired,
          engine.status(live, "working", {
            message: agentMessage(
              `${writer.taskId}-expired-${writer.head}`,
              "Continuing without client input...",
            ),
          }),
        ]);
  }
  const woken: AgentEvent = { kind: ENGINE_EVENTS.woken, taskId: writer.taskId, timestamp };
  return resume(engine, live, timestamp, [woken]);
}

/** Why a task without a message ends. It did not fail: no work was asked for. */
const NO_MESSAGE: EndReason = {
  text: "The task expired, because it received no message.",
  metadata: { reason: "no-message" },
};

function timeOut(engine: Engine, live: LiveTask): Promise<void> {
  return failTask(engine, live, { text: "Task timed out", metadata: { reason: "timeout" } });
}

function failUnanswered(engine: Engine, live: LiveTask, ms: number): Promise<void> {
  const { taskId } = live.writer;
  const metadata = { reason: "input-timeout", taskId, timeoutSeconds: ms / 1000 };
  return failTask(engine, live, { text: "Input timeout", metadata });
}

async function failTask(engine: Engine, live: LiveTask, reason: EndReason): Promise<void> {
  const isEvicted = live.run === undefined;
  await endTask(engine, live, "failed", reason);
  if (isEvicted) await abandonTask(engine, live);
}

interface Question {
  /** Whether the agent can continue without an answer, because its turn did not end with the question. */
  readonly isWaiting: boolean;
  /** When the question itself expires, in milliseconds since the epoch, if it does. */
  readonly until?: number | undefined;
  /** When the agent is woken while it asks, in milliseconds since the epoch, if it sleeps as well. */
  readonly timer?: number | undefined;
}

async function pendingQuestion({ backend }: Engine, { run, writer }: LiveTask): Promise<Question> {
  if (run !== undefined) return { isWaiting: true, until: run.until, timer: run.timer };
  const { taskId, head } = writer;
  if ((await turnEndedAt(backend, taskId, head)) !== undefined) return { isWaiting: false };
  if (!isInterrupted(writer.nextState)) return { isWaiting: true };
  const { log } = await readTurnLog(backend, taskId);
  return { isWaiting: true, until: log.until, timer: log.timer };
}

/** Records that the wait is over, and resumes the agent. */
async function resume(
  engine: Engine,
  live: LiveTask,
  at: string,
  events: readonly AgentEvent[],
): Promise<void> {
  const { writer, deadline, run } = live;
  const parked = run?.isParked === true ? run : undefined;
  const epoch = parked?.epoch ?? writer.fence();
  const committed = await writer.append(events, {
    epoch,
    insist: true,
    wakeAt: deadline ?? null,
    running: true,
  });
  if (deadline !== undefined) engine.wakeTimer.schedule(deadline);
  if (committed.kind !== "committed") return;
  if (parked === undefined) await engine.keepTrying(writer, () => resumeTask(engine, live, epoch));
  else parked.resume(undefined, at);
}

/** Nothing is due: the wake time was for something that has happened already, or is not over yet. */
async function setWakeTime(engine: Engine, live: LiveTask, wakeAt?: number | null): Promise<void> {
  const { writer } = live;
  const epoch = live.run?.epoch ?? writer.epoch;
  await writer.append([], { epoch, insist: true, wakeAt: wakeAt ?? null });
  if (typeof wakeAt === "number") engine.wakeTimer.schedule(wakeAt);
}
