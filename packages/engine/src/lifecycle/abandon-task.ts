import type { Engine } from "../run/engine.ts";
import { readTurnLog, type TurnLog } from "../log/turn-log.ts";

/**
 * Tells the agent that a task is over whose run is not in memory: what it had
 * begun elsewhere is in its journal, and must end, too.
 */
export async function abandonTask(engine: Engine, taskId: string): Promise<void> {
  if (engine.agent.abandon === undefined) return;
  const { log } = await readTurnLog(engine.backend, taskId);
  abandonBy(engine, log);
}

export function abandonBy(engine: Engine, { task, journal }: TurnLog): void {
  if (journal.length === 0) return;
  try {
    engine.agent.abandon?.(task, journal);
  } catch (error) {
    engine.logger.error("the agent could not let go of a task", { taskId: task.id, error });
  }
}
