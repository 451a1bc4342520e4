import { DataFolderError, openSqliteBackend } from "@convoke/backends/sqlite";
import { type TaskRecord, createJsonLogger, endStoredTasks } from "@convoke/engine";
import { defaultFolderOf } from "@convoke/runtime/agent-data";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { CommandIo } from "../terminal/command.ts";
import { StartError } from "./config.ts";
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
  const folder = data === undefined ? defaultFolderOf(agentId ?? "") : resolve(data);
  if (!existsSync(join(folder, "tasks.db"))) {
    throw new StartError(`There are no tasks in ${folder}; name another folder with --data.`);
  }
  const backend = await openSqliteBackend({ folder }).catch((error: unknown) => {
    throw error instanceof DataFolderError ? new StartError(error.message) : error;
  });
  try {
    const logger = createJsonLogger(readLevel(io.env["CONVOKE_LOG"] || undefined), io.stderr);
    return await endStoredTasks(backend, agentId === undefined ? { taskIds } : { agentId }, logger);
  } finally {
    await backend.close();
  }
}
