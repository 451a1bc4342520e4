import { A2AError, type Caller, NOTES, type Task, isTerminal } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { abandonTask } from "./abandon-task.ts";
import { endTask } from "./end-task.ts";
import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";

/** How long an agent may take to stop before it is fenced off (G10). */
const GRACE_MS = 500;

/**
 * Stops a task. The wish is recorded first, so that a crash in between does not
 * bring the task back; then the agent is told; then it is canceled, whatever
 * the agent does.
 */
export async function cancelTask(engine: Engine, taskId: string, caller: Caller): Promise<Task> {
  const live = await engine.tasks.openFor(caller, taskId);
  try {
    await stop(engine, live);
  } finally {
    engine.tasks.release(live);
  }
  const { state } = live.task.status;
  if (state === "canceled") return live.task;
  throw new A2AError("TaskNotCancelable", `task ${taskId} is already ${state}`, {
    details: { taskId, state },
  });
}

async function stop(engine: Engine, live: LiveTask): Promise<void> {
  const { run, writer } = live;
  const { taskId } = writer;
  if (run === undefined && !isTerminal(writer.nextState)) await abandonTask(engine, taskId);
  if (run !== undefined && !isTerminal(writer.nextState)) {
    const epoch = run.epoch;
    live.isCanceled = true;
    const { listed } = writer;
    await writer.append([{ kind: NOTES.cancel, taskId }], { epoch, listed, insist: true });
    run.abort(new Error(`task ${taskId} was canceled`));
    await Promise.race([run.ended, sleep(GRACE_MS, undefined, { ref: false })]);
  }
  await endTask(engine, live, "canceled");
}
