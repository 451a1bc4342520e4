import { type Caller, ServerStopping, isInterrupted, isTerminal } from "@convoke/protocol";
import type { TaskRecord } from "../log/backend.ts";
import { abandonTurn, endTask } from "./end-task.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { resumeTask, startAttempt } from "../run/resume-task.ts";
import { type TurnLog, readTurnLog } from "../log/turn-log.ts";

const PAGE = 256;

/** How many tasks resume at once, so that a restart with many tasks does not overload the process. */
const MAX_RUNS = 64;

/** How many unfinished tasks of an earlier process were resumed, ended or left waiting. */
export interface RecoveryReport {
  /** Resumed, or queued to resume. */
  resumed: number;
  /** Ended as `interrupted`, `agent-missing` or canceled. */
  ended: number;
  /** Still waiting for an answer or a time, or paused. */
  waiting: number;
}

export interface RecoverOptions {
  /**
   * Whether runs that the earlier process left resume at once. Default true. If false they stay
   * paused until `resumePausedTask`.
   */
  readonly resume?: boolean;
}

/**
 * Takes over the unfinished tasks of an earlier process (G3: a crash loses no
 * task). Resolves when each of them is ended, waiting, or queued to resume.
 */
export async function recover(
  engine: Engine,
  { resume = true }: RecoverOptions = {},
): Promise<RecoveryReport> {
  const recovered: RecoveryReport = { resumed: 0, ended: 0, waiting: 0 };
  const queue = new RunQueue(MAX_RUNS);
  for (let after = ""; ;) {
    const records = await engine.backend.tasks.unfinished(after, PAGE);
    const results = await Promise.all(
      records.map((record) => takeOver(engine, record, { queue, resume })),
    );
    for (const result of results) recovered[result]++;
    if (records.length < PAGE) break;
    after = records.at(-1)?.taskId ?? after;
  }
  await engine.wakeTimer.start();
  return recovered;
}

async function takeOver(
  engine: Engine,
  record: TaskRecord,
  how: { readonly queue: RunQueue; readonly resume: boolean },
): Promise<keyof RecoveryReport> {
  const { log, snapshot } = await readTurnLog(engine.backend, record.taskId);
  engine.openTasks.add(record.owner);
  const live = engine.tasks.openSnapshot(record, snapshot);
  try {
    return await decide(engine, live, { record, log, ...how });
  } finally {
    engine.tasks.release(live);
  }
}

async function decide(
  engine: Engine,
  live: LiveTask,
  facts: {
    readonly record: TaskRecord;
    readonly log: TurnLog;
    readonly queue: RunQueue;
    readonly resume: boolean;
  },
): Promise<keyof RecoveryReport> {
  const { record, log, queue, resume } = facts;
  if (record.agent !== engine.agent.info.name) {
    const text = `The agent ${record.agent} is no longer here.`;
    await endTask(engine, live, "failed", { text, metadata: { reason: "agent-missing" } });
    return "ended";
  }
  if (log.isCanceled) {
    abandonTurn(engine, log);
    await endTask(engine, live, "canceled");
    return "ended";
  }
  const canResume = log.isDurable || engine.agent.info.restart;
  const isWaiting = isInterrupted(record.state)
    ? log.isOver || log.isAsking
    : log.sleep !== undefined;
  if (isWaiting && !log.isWatched) return "waiting";
  if (!canResume) {
    const text = "The server stopped while the agent was working on this task.";
    await endTask(engine, live, "failed", { text, metadata: { reason: "interrupted" } });
    return "ended";
  }
  if (!resume) return "waiting";
  const epoch = live.writer.fence();
  engine.tasks.hold(live);
  live.enqueue();
  queue.run(async () => {
    live.dequeue();
    try {
      if (engine.closing.aborted || live.writer.epoch !== epoch) return;
      const run = await engine.keepTrying(record, () => startAttempt(engine, live, { epoch, log }));
      await run?.yielded;
    } finally {
      engine.tasks.release(live);
    }
  });
  return "resumed";
}

/** Runs a limited number of functions at once, in order. */
class RunQueue {
  #free: number;
  #waiting: (() => Promise<void>)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Starts the work now, or when another one ends. The work handles its own errors. */
  run(work: () => Promise<void>): void {
    this.#waiting.push(work);
    this.#next();
  }

  #next(): void {
    if (this.#free === 0) return;
    const work = this.#waiting.shift();
    if (work === undefined) return;
    this.#free--;
    void work().finally(() => {
      this.#free++;
      this.#next();
    });
  }
}

/**
 * Aborts the run of a task and leaves the task as its log has it: it has not ended, and resumes
 * from its journal with `resumePausedTask` or in the next process. Nothing that the aborted run
 * still says is stored. Does nothing if the task has no run, or waits for its caller.
 */
export function pauseTask(engine: Engine, taskId: string): void {
  const live = engine.tasks.get(taskId);
  const run = live?.run;
  if (live === undefined || run === undefined) return;
  const { writer } = live;
  if (isInterrupted(writer.nextState) || isTerminal(writer.nextState) || live.isCanceled) return;
  writer.fence();
  live.detachRun();
  // The task is not canceled, so neither are the tasks that it started elsewhere.
  run.abort(new ServerStopping());
  // Kept open until everything said before is stored: the next to open the task reads the log.
  engine.tasks.hold(live);
  void Promise.resolve(writer.settled).then(() => engine.tasks.release(live));
}

/** Resumes a task that was paused. Does nothing if it runs, waits for its caller or has ended. */
export async function resumePausedTask(
  engine: Engine,
  taskId: string,
  caller: Caller,
): Promise<void> {
  const live = await engine.tasks.openFor(caller, taskId);
  const { writer } = live;
  const isPaused = (): boolean =>
    live.run === undefined &&
    !live.isQueued &&
    !isInterrupted(writer.nextState) &&
    !isTerminal(writer.nextState);
  try {
    if (!isPaused()) return;
    await writer.settled;
    if (!isPaused()) return;
    const epoch = writer.fence();
    await engine.keepTrying(writer, () => resumeTask(engine, live, epoch));
  } finally {
    engine.tasks.release(live);
  }
}
