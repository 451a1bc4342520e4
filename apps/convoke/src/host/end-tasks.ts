import { type TaskRecord, createJsonLogger, endStoredTasks } from "@convoke/engine";
import { defaultFolderOf } from "@convoke/runtime/agent-data";
import type { CommandIo } from "../terminal/command.ts";
import { openStoredFolder } from "./open-stored-tasks.ts";
import { readLevel } from "./settings.ts";

export interface EndTasksRequest {
  readonly data: string | undefined;
  readonly taskIds: readonly string[];
  /** All tasks of this agent, instead of `taskIds`. */
  readonly agentId: string | undefined;
  readonly io: CommandIo;
}

/** Ends tasks in a data folder that no server uses. */
export async function endTasks(request: EndTasksRequest): Promise<readonly TaskRecord[]> {
  const { data, taskIds, agentId, io } = request;
  const backend = await openStoredFolder(data ?? defaultFolderOf(agentId ?? ""));
  try {
    const logger = createJsonLogger(readLevel(io.env["CONVOKE_LOG"] || undefined), io.stderr);
    return await endStoredTasks(backend, agentId === undefined ? { taskIds } : { agentId }, logger);
  } finally {
    await backend.close();
  }
}
