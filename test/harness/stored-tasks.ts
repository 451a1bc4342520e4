import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { AgentEvent } from "@convoke/protocol";
import type { Backend, TaskRecord } from "@convoke/engine";
import type { LoggedEvent } from "./task-log.ts";

/** One stored task with its whole log. */
export interface StoredTask {
  readonly record: TaskRecord;
  readonly log: readonly LoggedEvent[];
}

const PAGE = 1000;

/** Every task in a data folder. No server may be using the folder. */
export async function readStoredTasks(folder: string): Promise<readonly StoredTask[]> {
  return readAllTasks(await openSqliteBackend({ folder }));
}

/** Every task of a storage, which is closed. */
export async function readAllTasks(backend: Backend): Promise<readonly StoredTask[]> {
  try {
    const query = { owner: "anonymous", limit: 1_000_000 };
    const { records } = await backend.tasks.list(query);
    const tasks: StoredTask[] = [];
    for (const record of records) {
      const log: LoggedEvent[] = [];
      for (let after = 0; ;) {
        const page = await backend.read(record.taskId, after, PAGE);
        for (const { seq, json } of page) {
          log.push({ id: seq, event: JSON.parse(json) as AgentEvent });
        }
        if (page.length < PAGE) break;
        after = page.at(-1)?.seq ?? after;
      }
      tasks.push({ record, log });
    }
    return tasks;
  } finally {
    await backend.close();
  }
}
