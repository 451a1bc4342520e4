import {
  type Backend,
  type BlobStore,
  type LogStorage,
  TaskFiles,
  createTextLogger,
  loggedEventText,
  readLogPage,
} from "@convoke/engine";
import type { JsonObject } from "@convoke/protocol/internal";
import { openStoredFolder } from "../host/open-stored-tasks.ts";
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

const LOGGER = createTextLogger("warn", (text) => void process.stderr.write(text));

/** The tasks in a data folder that no server uses. */
export class StoredTasks implements TaskSource {
  readonly #backend: Backend;
  readonly #storage: LogStorage;

  /** @param files where large files are, if not in the folder */
  static async open(data: string, files?: BlobStore): Promise<StoredTasks> {
    const backend = await openStoredFolder(data);
    return new StoredTasks(backend, files ?? backend.blobs);
  }

  private constructor(backend: Backend, store: BlobStore | undefined) {
    this.#backend = backend;
    this.#storage = { backend, files: new TaskFiles({ store, logger: LOGGER }) };
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
      const page = await readLogPage(this.#storage, taskId, { ...PAGE, ...view, after });
      if (page.isEmpty) return;
      for (const event of page.events) yield JSON.parse(loggedEventText(event)) as JsonObject;
      after = page.last;
    }
  }
}
