import { A2AError, type Caller, type Task, isTerminal } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engine.ts";

/** How long an agent may take to stop before it is fenced off (G10). */
const GRACE_MS = 500;

/** Stops a task. Resolves when it is canceled, whatever its agent does. */
export async function cancelTask(engine: Engine, taskId: string, caller: Caller): Promise<Task> {
  const live = await engine.open(await engine.record(taskId, caller));
  const { run, writer } = live;
  if (run !== undefined) {
    run.abort(new Error(`task ${taskId} was canceled`));
    await Promise.race([run.ended, sleep(GRACE_MS, undefined, { ref: false })]);
  }
  if (!isTerminal(writer.nextState)) {
    const epoch = writer.fence();
    // Its run may write no more, so this has to arrive, however long the storage takes.
    await writer.append([engine.status(live, "canceled")], { epoch, listed: true, insist: true });
  }
  await live.until(({ task }) => isTerminal(task.status.state));
  engine.release(live);
  const { state } = live.task.status;
  if (state === "canceled") return live.task;
  throw new A2AError("TaskNotCancelable", `task ${taskId} is already ${state}`, {
    details: { taskId, state },
  });
}
