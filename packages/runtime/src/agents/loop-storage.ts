import { type AgentKey, type Backend, type Logger, agentKey } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { openAgentData } from "./agent-data.ts";

/** Where the tasks of a loop are kept. */
export interface LoopStorage {
  /**
   * A folder in which tasks are kept, so that `resume(taskId)` works in the next process. One
   * process at a time can use it. Default: tasks are kept in memory.
   */
  readonly data?: string | undefined;
  /** Keeps the tasks instead of `data`. The loop closes it. */
  readonly backend?: Backend | undefined;
}

/** Opens the storage of a loop, and prepares its agent with it. */
export async function openStorage(
  agent: Agent,
  { data = "memory", backend }: LoopStorage,
  logger: Logger,
): Promise<{ readonly backend: Backend; readonly key: AgentKey }> {
  if (backend !== undefined) return { backend, key: agentKey(agent) };
  const onFatal = (error: Error): void => logger.error("the storage failed", { error });
  return openAgentData(agent, { data, logger, onFatal });
}
