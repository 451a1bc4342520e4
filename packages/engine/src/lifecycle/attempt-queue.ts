import { isTerminal } from "@convoke/protocol";
import { type BackoffOptions, backoffMs, sleep } from "@convoke/protocol/internal";
import { type TurnLog, isProgress } from "../log/turn-log.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { type Crashes, startAttempt } from "../run/resume-task.ts";
import type { Run } from "../run/run.ts";

/** How many tasks resume at once, so that a restart with many tasks does not overload the process. */
const MAX_RUNS = 64;

/** From this number of crashes on a task is started alone, so that others are not counted with it. */
const SUSPECT = 3;

/** How long to wait before the next such task is started, if the last one makes no progress. */
const SUSPECT_MS = 10_000;

/** A turn that an earlier process left. */
interface InterruptedTurn {
  readonly log: TurnLog;
  readonly crashes: Crashes;
}

/**
 * Starts the interrupted turns of an earlier process again, a limited number at once. If several
 * processes in a row crashed, a turn that made no progress in them may be the reason: it waits, so
 * that the server does not crash at full speed, and is then started alone.
 */
export class AttemptQueue {
  readonly #engine: Engine;
  readonly #backoff: BackoffOptions;
  readonly #queue = new RunQueue(MAX_RUNS);
  readonly #suspects = new RunQueue(1);

  constructor(engine: Engine, backoff: BackoffOptions) {
    this.#engine = engine;
    this.#backoff = backoff;
  }

  /** Holds the task until it is started or another owner has taken it. */
  add(live: LiveTask, turn: InterruptedTurn): void {
    const { count: crashes } = turn.crashes;
    const { taskId } = live.writer;
    const epoch = live.writer.fence();
    this.#engine.tasks.hold(live);
    live.enqueue();
    const queue = crashes < SUSPECT ? this.#queue : this.#suspects;
    const start = (): void => queue.run(() => this.#attempt(live, turn, epoch));
    if (crashes < 2) return start();
    const pauseMs = Math.round(backoffMs(crashes - 1, this.#backoff));
    this.#engine.logger.warn("a task without progress is started again after crashes", {
      taskId,
      crashes,
      pauseMs,
    });
    setTimeout(start, pauseMs).unref();
  }

  async #attempt(live: LiveTask, turn: InterruptedTurn, epoch: number): Promise<void> {
    const engine = this.#engine;
    try {
      const run = await this.#start(live, turn, epoch);
      if (run === undefined) return;
      const isSafe = turn.crashes.count < SUSPECT ? [] : [progress(live), pause(engine.closing)];
      await Promise.race([run.yielded, ...isSafe]);
    } finally {
      engine.tasks.release(live);
    }
  }

  /** The task is queued until it has its run. */
  async #start(live: LiveTask, turn: InterruptedTurn, epoch: number): Promise<Run | undefined> {
    const engine = this.#engine;
    try {
      if (engine.isDraining || live.writer.epoch !== epoch) return undefined;
      return await engine.keepTrying(live.writer, () =>
        startAttempt(engine, live, { epoch, ...turn }),
      );
    } finally {
      live.dequeue();
    }
  }
}

/** Resolves when the task has finished something since it was started. */
function progress(live: LiveTask): Promise<void> {
  const { writer } = live;
  const { head } = writer;
  return live.until(
    ({ task }) =>
      isTerminal(task.status.state) ||
      // If the tail is no longer in memory, a lot has happened.
      (writer.tail.after(head, Infinity)?.some(({ event }) => isProgress(event)) ?? true),
  );
}

function pause(closing: AbortSignal): Promise<void> {
  return sleep(SUSPECT_MS, closing).catch(() => undefined);
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
