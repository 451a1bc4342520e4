import { A2AError } from "@convoke/protocol";
import type { Backend, LogPosition, Seq, StoredTask, TaskRecord } from "../log/backend.ts";
import { type LogEntry, readEntries } from "../log/log-entry.ts";
import { type TaskSnapshot, loadTask } from "../log/task-snapshot.ts";
import type { LiveTask } from "./live-task.ts";
import { taskNotFound } from "./task-errors.ts";

/** How many events are read at a time. */
const PAGE = 256;

export interface TaskRefresherOptions {
  readonly backend: Backend;
  /** Retries until the storage works again. */
  readonly keepTrying: <T>(taskId: string, work: () => Promise<T>) => Promise<T | undefined>;
  /**
   * Called when the run of a task was aborted because its log is not what this process wrote, and perhaps
   * no other process works on the task.
   */
  readonly onSetBack: (taskId: string) => void;
  /** Called when the store has lost a task. */
  readonly onGone: (live: LiveTask) => void;
}

/** A task as it is stored. */
export interface ReadTask {
  readonly record: TaskRecord;
  readonly snapshot: TaskSnapshot;
}

/** Brings open tasks up to date with what other processes have written to a storage that they share. */
export class TaskRefresher {
  readonly #options: TaskRefresherOptions;

  constructor(options: TaskRefresherOptions) {
    this.#options = options;
  }

  /**
   * Whether what is in memory is what is stored. Always, unless processes share the storage: then
   * only when the task has ended, or while this one works on the task, has written to it, and has had
   * a valid lease since it last looked.
   */
  isCurrent({ writer }: LiveTask): boolean {
    const { sharing } = this.#options.backend;
    if (sharing === undefined || writer.hasEnded) return true;
    return writer.isRunning && writer.isConfirmed && sharing.isHeld(writer.verifiedAt);
  }

  /** Waits for a step that is being stored: through another process, a client may have seen it already. */
  async committed({ writer }: LiveTask): Promise<void> {
    if (this.#options.backend.sharing !== undefined) await writer.committing;
  }

  /**
   * Brings an open task up to date. If other processes have written to it, its run in this process is
   * aborted without ending the task: another one works on it. A failover of the database may have lost
   * events that are in memory: then the task is set back to what is left.
   *
   * @param isRefused the store has refused a step of this process, so what is in memory may be wrong
   */
  async refresh(live: LiveTask, isRefused = false): Promise<void> {
    const { writer } = live;
    await this.committed(live);
    const mustLook = isRefused && this.#options.backend.sharing !== undefined;
    while (mustLook || !this.isCurrent(live)) {
      await writer.settled;
      if (writer.hasEnded) return;
      const before = writer.position;
      if (before.head === 0) return;
      const readAt = performance.now();
      const record = await this.#options.backend.tasks.record(writer.taskId);
      if (record === undefined) return this.#forget(live);
      if (isAt(record, before)) return writer.verified(readAt);
      // The last event that is known comes with those after it, if the log still has it.
      const [known, ...entries] = await this.#entriesBetween(before.head - 1, record);
      const isWhole = known?.seq === before.head && known.epoch === writer.headEpoch;
      const left = isWhole ? undefined : await this.read(writer.taskId);
      // Only if nothing was written here meanwhile: the record would be older than that.
      if (writer.settled !== undefined || !isAt(before, writer.position)) continue;
      abortRun(live);
      if (left === undefined) return writer.catchUp(record, entries);
      live.forgetMessages();
      writer.rewind(left.record, left.snapshot);
      return this.#options.onSetBack(writer.taskId);
    }
  }

  /**
   * The same, again until the storage answers. Resolves to the error if the store has lost the task.
   *
   * @param isRefused as for `refresh`
   */
  refreshInsisting(live: LiveTask, isRefused = false): Promise<A2AError | undefined> {
    const refresh = async (): Promise<A2AError | undefined> => {
      try {
        await this.refresh(live, isRefused);
      } catch (error) {
        if (A2AError.is(error)) return error;
        throw error;
      }
    };
    return refresh().catch(() => this.#options.keepTrying(live.writer.taskId, refresh));
  }

  /**
   * Resolves when the condition is true: immediately, or after a commit of this or another process.
   * Rejects if the store has lost the task.
   */
  until(live: LiveTask, condition: (live: LiveTask) => boolean): Promise<void> {
    const isAlone = this.#options.backend.sharing === undefined;
    return isAlone || condition(live) ? live.until(condition) : this.#watch(live, condition);
  }

  async #watch(live: LiveTask, condition: (live: LiveTask) => boolean): Promise<void> {
    const { backend } = this.#options;
    const lost = Promise.withResolvers<never>();
    // There may be no other commit that would make it look again.
    const look = async (): Promise<void> => {
      const gone = await this.refreshInsisting(live);
      if (gone !== undefined) lost.reject(gone);
    };
    const stop = backend.watch(live.writer.taskId, () => void look());
    try {
      void look();
      await Promise.race([live.until(condition), lost.promise]);
    } finally {
      stop();
    }
  }

  /**
   * Reads a task.
   *
   * @param stored its record. Default: the record is read, because an earlier one may be out of date.
   */
  async read(taskId: string, stored?: StoredTask): Promise<ReadTask> {
    const { backend } = this.#options;
    const record = stored ?? (await backend.tasks.get(taskId));
    if (record === undefined) throw new Error(`task ${taskId} is not in the store any more`);
    const snapshot = await loadTask(backend, record, record.head);
    if (snapshot.epoch !== undefined || backend.sharing === undefined) return { record, snapshot };
    const [last] = await backend.read(taskId, snapshot.head - 1, 1);
    return { record, snapshot: { ...snapshot, epoch: last?.epoch } };
  }

  #forget(live: LiveTask): never {
    const { writer } = live;
    abortRun(live);
    writer.fence();
    writer.lost();
    this.#options.onGone(live);
    throw taskNotFound(writer.taskId);
  }

  async #entriesBetween(after: Seq, { taskId, head }: TaskRecord): Promise<readonly LogEntry[]> {
    const entries: LogEntry[] = [];
    while (after + entries.length < head) {
      const from = after + entries.length;
      const page = await this.#options.backend.read(taskId, from, Math.min(PAGE, head - from));
      if (page.length === 0) break;
      entries.push(...readEntries(page));
    }
    return entries;
  }
}

/** Aborts the run of a task that goes on without it. */
function abortRun(live: LiveTask): void {
  live.abandonRun();
  // A cancel that is not in the log is left to the process that works on the task now.
  live.markCanceled(false);
}

function isAt(one: LogPosition, other: LogPosition): boolean {
  return one.head === other.head && one.epoch === other.epoch;
}
