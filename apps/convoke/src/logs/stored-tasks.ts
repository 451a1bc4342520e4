import { DataFolderError, openSqliteBackend } from "@convoke/backends/sqlite";
import { type Backend, loggedEventText, readLogPage } from "@convoke/engine";
import type { JsonObject } from "@convoke/protocol/internal";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { StartError } from "../host/config.ts";
import { UsageError } from "../terminal/command.ts";
import {
  type LogItem,
  type LogRequest,
  type LoggedTask,
  MOST_FOUND,
  type TaskSource,
  chooseTask,
} from "./task-source.ts";

/** How much is read at a time: events, and characters. */
const PAGE = { limit: 1000, maxLength: 1024 * 1024 };

const IDS = 256;

/** The tasks in a data folder that no server uses. */
export class StoredTasks implements TaskSource {
  readonly #backend: Backend;

  static async open(data: string): Promise<StoredTasks> {
    const folder = resolve(data);
    if (!existsSync(join(folder, "tasks.db"))) {
      throw new StartError(`There are no tasks in ${folder}; name another folder with --data.`);
    }
    const backend = await openSqliteBackend({ folder }).catch((error: unknown) => {
      throw error instanceof DataFolderError ? new StartError(error.message) : error;
    });
    return new StoredTasks(backend);
  }

  private constructor(backend: Backend) {
    this.#backend = backend;
  }

  async find(given: string): Promise<string> {
    const before = `${given}\u{10FFFF}`;
    const records = await this.#backend.tasks.newest({ before, limit: MOST_FOUND });
    const found = records.map(({ taskId }) => taskId).filter((id) => id.startsWith(given));
    return chooseTask(given, found);
  }

  async *ids(): AsyncGenerator<string> {
    for (let before: string | undefined; ;) {
      const query = { limit: IDS, ...(before !== undefined && { before }) };
      const records = await this.#backend.tasks.newest(query);
      for (const { taskId, listed } of records) if (listed) yield taskId;
      before = records.at(-1)?.taskId;
      if (records.length < IDS) return;
    }
  }

  async open(taskId: string, request: LogRequest): Promise<LoggedTask> {
    const record = await this.#backend.tasks.record(taskId);
    if (record === undefined) throw new UsageError(`There is no task ${taskId} in this folder.`);
    const { contextId, owner, agent, state, head, compacted } = record;
    const about = { id: taskId, contextId, owner, agent, state, head };
    return {
      about: { ...about, ...(compacted && { compacted }) },
      events: this.#events(taskId, request),
    };
  }

  close(): Promise<void> {
    return this.#backend.close();
  }

  async *#events(
    taskId: string,
    { after: start = 0, notes, joinsChunks }: LogRequest,
  ): AsyncGenerator<LogItem> {
    const view = { hasNotes: notes !== false, joinsChunks };
    for (let after = start; ;) {
      const page = await readLogPage(this.#backend, taskId, { ...PAGE, ...view, after });
      if (page.isEmpty) return;
      for (const event of page.events) yield JSON.parse(loggedEventText(event)) as JsonObject;
      after = page.last;
    }
  }
}
