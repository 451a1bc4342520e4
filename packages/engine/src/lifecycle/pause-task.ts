import { type Caller, ServerStopping, isInterrupted, isTerminal } from "@convoke/protocol";
import type { Engine } from "../run/engine.ts";
import { resumeTask } from "../run/resume-task.ts";

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
