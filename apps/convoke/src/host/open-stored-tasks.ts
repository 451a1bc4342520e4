import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Backend } from "@convoke/engine";
import { isDatabaseUrl } from "../terminal/database-url.ts";
import { StartError } from "./config.ts";

/** Opens the tasks in a data folder that no server uses, or in a database. */
export async function openStoredTasks(data: string): Promise<Backend> {
  if (isDatabaseUrl(data)) {
    const { openPostgresBackend } = await import("@convoke/backends/postgres");
    return openPostgresBackend({ url: data });
  }
  return openStoredFolder(data);
}

/** Opens the tasks in a data folder that no server uses. */
export async function openStoredFolder(data: string): Promise<Backend> {
  const folder = resolve(data);
  if (!existsSync(join(folder, "tasks.db"))) {
    throw new StartError(`There are no tasks in ${folder}; name another folder with --data.`);
  }
  const { DataFolderError, openSqliteBackend } = await import("@convoke/backends/sqlite");
  return openSqliteBackend({ folder }).catch((error: unknown) => {
    throw error instanceof DataFolderError ? new StartError(error.message) : error;
  });
}
