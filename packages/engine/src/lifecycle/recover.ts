import { isInterrupted } from "@convoke/protocol";
import type { TaskRecord } from "../log/backend.ts";
import { abandonBy } from "./abandon-task.ts";
import { endTask } from "./end-task.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { beginAnew } from "../run/resume-task.ts";
import { readTurnLog, type TurnLog } from "../log/turn-log.ts";

const PAGE = 256;

/** How many runs are begun anew at a time, so that a start with many of them does not drown the process. */
const MAX_RUNS = 64;

/** What became of the tasks that an earlier process had left unfinished. */
export interface Recovered {
  /** Begun anew, or about to be. */
  resumed: number;
  /** Ended: `interrupted`, `agent-missing` or canceled. */
  ended: number;
  /** Waiting for an answer or a time, as before, or paused. */
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
 * Takes over what an earlier process left unfinished (G3): that process is
 * gone, and its runs with it. Resolves when every such task is ended, waits, or
 * has its place in the queue of runs.
 */
export async function recover(
  engine: Engine,
  { resume = true }: RecoverOptions = {},
): Promise<Recovered> {
  const recovered: Recovered = { resumed: 0, ended: 0, waiting: 0 };
  const slots = new RunSlots(MAX_RUNS);
  for (let after = ""; ;) {
    const records = await engine.backend.tasks.unfinished(after, PAGE);
    const fates = await Promise.all(
      records.map((record) => takeOver(engine, record, { slots, resume })),
    );
    for (const fate of fates) recovered[fate]++;
    if (records.length < PAGE) break;
    after = records.at(-1)?.taskId ?? after;
  }
  await engine.alarm.start();
  return recovered;
}

async function takeOver(
  engine: Engine,
  record: TaskRecord,
  how: { readonly slots: RunSlots; readonly resume: boolean },
): Promise<keyof Recovered> {
  const { log, folded } = await readTurnLog(engine.backend, record.taskId);
  engine.openTasks.add(record.owner);
  const live = engine.tasks.openFolded(record, folded);
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
    readonly slots: RunSlots;
    readonly resume: boolean;
  },
): Promise<keyof Recovered> {
  const { record, log, slots, resume } = facts;
  if (record.agent !== engine.agent.info.name) {
    const text = `The agent ${record.agent} is no longer here.`;
    await endTask(engine, live, "failed", { text, metadata: { reason: "agent-missing" } });
    return "ended";
  }
  if (log.isCanceled) {
    abandonBy(engine, log);
    await endTask(engine, live, "canceled");
    return "ended";
  }
  const mayGoOn = log.isDurable || engine.agent.info.restart;
  const waits = isInterrupted(record.state) ? log.isOver || log.isAsking : log.sleep !== undefined;
  if (waits && !log.isWatched) return "waiting";
  if (!mayGoOn) {
    const text = "The server stopped while the agent was working on this task.";
    await endTask(engine, live, "failed", { text, metadata: { reason: "interrupted" } });
    return "ended";
  }
  if (!resume) return "waiting";
  const epoch = live.writer.fence();
  engine.tasks.hold(live);
  live.isInLine = true;
  slots.run(async () => {
    live.isInLine = false;
    try {
      if (engine.closing.aborted || live.writer.epoch !== epoch) return;
      const run = await engine.keepTrying(record, () => beginAnew(engine, live, { epoch, log }));
      await run?.yielded;
    } finally {
      engine.tasks.release(live);
    }
  });
  return "resumed";
}

/** Runs a bounded number of things at a time, in the order they came. */
class RunSlots {
  #free: number;
  #waiting: (() => Promise<void>)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Starts the work now or when a place is free. It reports its own failures. */
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
