import type { Engine } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";
import { cancelTask } from "./end-task.ts";

/** How long a client may take to reconnect to its task. */
const RECONNECT_MS = 5000;

/** The tasks whose last client has disconnected. */
const waiting = new WeakMap<LiveTask, NodeJS.Timeout>();

/**
 * Called when a client disconnects from a stream that has not ended. If the agent says so
 * (`onDisconnect`), a task that the agent is still working on is canceled, unless a client
 * reconnects in time.
 */
export function streamDisconnected(engine: Engine, taskId: string): void {
  const live = engine.tasks.get(taskId);
  if (live?.agent?.info.onDisconnect !== "cancel") return;
  if (engine.openStreams.has(taskId)) return;
  const timer = waiting.get(live);
  if (timer !== undefined) return void timer.refresh();
  const onTimeout = (): void => {
    waiting.delete(live);
    void cancelUnwatched(engine, live);
  };
  waiting.set(live, setTimeout(onTimeout, RECONNECT_MS).unref());
}

async function cancelUnwatched(engine: Engine, { run, writer, owner }: LiveTask): Promise<void> {
  const { taskId } = writer;
  const isWorking = run !== undefined && !run.isParked;
  if (!isWorking || engine.closing.aborted || engine.openStreams.has(taskId)) return;
  engine.logger.info("a task is canceled, because its last client has disconnected", { taskId });
  try {
    await cancelTask(engine, taskId, { owner });
  } catch (error) {
    // The task may have ended by itself meanwhile.
    engine.logger.debug("a task could not be canceled", { taskId, error });
  }
}
