import {
  type Backend,
  type BlobStore,
  type TaskRecord,
  createJsonLogger,
  deleteStoredTasks,
} from "@convoke/engine";
import { A2AError, isTerminal } from "@convoke/protocol";
import { StartError } from "../host/config.ts";
import { readFiles } from "../host/file-settings.ts";
import { openStoredTasks } from "../host/open-stored-tasks.ts";
import { type CommandIo, UsageError } from "../terminal/command.ts";
import { isDatabaseUrl } from "../terminal/database-url.ts";
import { MOST_FOUND, chooseTask } from "./task-source.ts";
import type { DeletableTask, TaskFilter, TaskRemover } from "./task-remover.ts";

const PAGE = 256;

/** Deletes tasks in a data folder that no server uses, or in a database. */
export class StoredTaskRemover implements TaskRemover {
  readonly #backend: Backend;
  readonly #io: CommandIo;
  readonly #files: readonly BlobStore[];

  static async open(data: string, io: CommandIo): Promise<StoredTaskRemover> {
    const files = await filesOf(data, io);
    return new StoredTaskRemover(await openStoredTasks(data), io, files);
  }

  /** @param files where large files may be, if not in the data folder */
  private constructor(backend: Backend, io: CommandIo, files: readonly BlobStore[]) {
    this.#backend = backend;
    this.#io = io;
    this.#files = files;
  }

  async find(given: string): Promise<DeletableTask> {
    const before = `${given}\u{10FFFF}`;
    const records = await this.#backend.tasks.newest({ before, limit: MOST_FOUND });
    const found = records.filter(({ taskId }) => taskId.startsWith(given));
    const chosen = chooseTask(
      given,
      found.map(({ taskId }) => taskId),
    );
    const record = found.find(({ taskId }) => taskId === chosen);
    if (record === undefined) throw new UsageError(`There is no task ${chosen}.`);
    return toTask(record);
  }

  async *select(filter: TaskFilter): AsyncGenerator<DeletableTask> {
    for (let before: string | undefined; ;) {
      const query = { limit: PAGE, ...(before !== undefined && { before }) };
      const records = await this.#backend.tasks.newest(query);
      for (const record of records) if (isMeant(record, filter)) yield toTask(record);
      before = records.at(-1)?.taskId;
      if (records.length < PAGE) return;
    }
  }

  async remove(taskIds: readonly string[], cancel: boolean): Promise<readonly string[]> {
    const logger = createJsonLogger("warn", this.#io.stderr);
    try {
      const deleted = await deleteStoredTasks(this.#backend, { taskIds, cancel }, logger);
      for (const store of this.#files) {
        for (const taskId of deleted) await store.deleteTask(taskId);
      }
      return deleted;
    } catch (error) {
      throw error instanceof A2AError ? new StartError(error.message) : error;
    }
  }

  close(): Promise<void> {
    return this.#backend.close();
  }
}

/** A schema may be that of a sub-agent, whose files are below those of its server. */
async function filesOf(data: string, { env }: CommandIo): Promise<readonly BlobStore[]> {
  const { store } = readFiles(env);
  if (store === undefined) return [];
  if (!isDatabaseUrl(data)) return [store];
  const { schemaOf } = await import("@convoke/backends/postgres");
  return [store, store.below(schemaOf(data))];
}

function isMeant(record: TaskRecord, { contextId, owner, before, state }: TaskFilter): boolean {
  return (
    (contextId === undefined || record.contextId === contextId) &&
    (owner === undefined || owner === "*" || record.owner === owner) &&
    (before === undefined || record.statusAt < before) &&
    (state === undefined || record.state === state)
  );
}

function toTask({ taskId, state, statusAt, owner }: TaskRecord): DeletableTask {
  const isUnfinished = !isTerminal(state);
  return { id: taskId, state, statusAt: new Date(statusAt).toISOString(), owner, isUnfinished };
}
