import type { Agent } from "@convoke/protocol";
import type { Backend, TaskRecord } from "../log/backend.ts";
import type { Logger } from "../logging/logger.ts";
import { Engine } from "../run/engine.ts";
import { type AgentKey, isTaskOf } from "../task/agent-key.ts";
import { endTask } from "./end-task.ts";

const PAGE = 256;

/** Selects unfinished tasks: by their ids, or all tasks of an agent. */
export type EndedTasks =
  | { readonly taskIds: readonly string[]; readonly agentId?: undefined }
  | { readonly taskIds?: undefined; readonly agentId: string };

/**
 * Ends tasks as `failed`, reason `operator`, in a storage that no engine uses. Their agents are not
 * notified; push notifications are delivered by the next server. Resolves to the ended tasks.
 */
export async function endStoredTasks(
  backend: Backend,
  which: EndedTasks,
  logger: Logger,
): Promise<readonly TaskRecord[]> {
  const ended: TaskRecord[] = [];
  return withoutAgents(backend, logger, async (engine) => {
    for (let after = ""; ;) {
      const records = await backend.tasks.unfinished(after, PAGE);
      for (const record of records.filter((candidate) => isSelected(which, candidate))) {
        await end(engine, record);
        engine.audit.record("task.ended", { taskId: record.taskId, owner: record.owner });
        ended.push(record);
      }
      if (records.length < PAGE) return ended;
      after = records.at(-1)?.taskId ?? after;
    }
  });
}

/** Does something with an engine that has no agents, on a storage that no other engine changes. */
export async function withoutAgents<T>(
  backend: Backend,
  logger: Logger,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = new Engine({ agent: NO_AGENT, backend, logger, wake: async () => undefined });
  try {
    return await work(engine);
  } finally {
    engine.close();
  }
}

function isSelected({ taskIds, agentId }: EndedTasks, record: TaskRecord): boolean {
  if (agentId === undefined) return taskIds.includes(record.taskId);
  const key: AgentKey = { id: agentId, names: [agentId] };
  return isTaskOf(key, record);
}

async function end(engine: Engine, record: TaskRecord): Promise<void> {
  const live = await engine.tasks.open(record);
  try {
    const text = "The operator of the server ended this task.";
    await endTask(engine, live, "failed", { text, metadata: { reason: "operator" } });
  } finally {
    engine.tasks.release(live);
  }
}

/** Never runs: the engine only ends and removes tasks. */
const NO_AGENT: Agent = {
  info: {
    name: "none",
    description: "Runs nothing.",
    version: "1.0.0",
    skills: [],
    inputModes: [],
    outputModes: [],
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart: false,
  },
  async *run() {},
};
