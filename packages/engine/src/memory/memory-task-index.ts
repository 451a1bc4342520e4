import { isTerminal } from "@convoke/protocol";
import type {
  ChangedQuery,
  ContextQuery,
  CreationPosition,
  ListPosition,
  StoredTask,
  TaskIndex,
  TaskQuery,
  TaskRecord,
  TaskRecordPage,
} from "../log/backend.ts";
import { type MemoryTask, toRecord, toStoredTask } from "./memory-task.ts";

/**
 * Point reads are one lookup. Lists look at every task and sort those that
 * match: a process that holds so many tasks that this matters wants a database.
 */
export class MemoryTaskIndex implements TaskIndex {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  readonly #assertOpen: () => void;

  constructor(tasks: ReadonlyMap<string, MemoryTask>, assertOpen: () => void) {
    this.#tasks = tasks;
    this.#assertOpen = assertOpen;
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    this.#assertOpen();
    const task = this.#tasks.get(taskId);
    return task && toStoredTask(task);
  }

  async list({
    owner,
    contextId,
    state,
    since,
    until,
    limit,
    after,
  }: TaskQuery): Promise<TaskRecordPage> {
    const matching = this.#all(
      (task) =>
        task.listed &&
        task.owner === owner &&
        (contextId === undefined || task.contextId === contextId) &&
        (state === undefined || task.state === state) &&
        (since === undefined || task.statusAt >= since),
    );
    const rest = matching.filter(
      (task) =>
        (until === undefined || task.statusAt <= until) &&
        (after === undefined || newestFirst(after, task) < 0),
    );
    return {
      records: rest.toSorted(newestFirst).slice(0, limit).map(toRecord),
      total: matching.length,
    };
  }

  async ofContext({
    owner,
    contextId,
    before,
    limit,
  }: ContextQuery): Promise<readonly TaskRecord[]> {
    return this.#all(
      (task) =>
        task.listed &&
        task.owner === owner &&
        task.contextId === contextId &&
        byCreation(task, before) < 0,
    )
      .toSorted((left, right) => byCreation(right, left))
      .slice(0, limit)
      .map(toRecord);
  }

  async changedSince({ owner, contextId, at }: ChangedQuery): Promise<readonly TaskRecord[]> {
    return this.#all(
      (task) =>
        task.listed &&
        task.owner === owner &&
        (contextId === undefined || task.contextId === contextId) &&
        task.createdAt <= at &&
        task.statusAt > at,
    ).map(toRecord);
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return this.#all((task) => !isTerminal(task.state) && task.taskId > after)
      .toSorted(byId)
      .slice(0, limit)
      .map(toRecord);
  }

  async waking(limit: number): Promise<readonly TaskRecord[]> {
    return this.#all(({ wakeAt }) => wakeAt !== null)
      .toSorted(earliestFirst)
      .slice(0, limit)
      .map(toRecord);
  }

  #all(matches: (task: MemoryTask) => boolean): MemoryTask[] {
    this.#assertOpen();
    return [...this.#tasks.values()].filter(matches);
  }
}

function newestFirst(left: ListPosition, right: ListPosition): number {
  return right.statusAt - left.statusAt || byId(right, left);
}

function byCreation(left: CreationPosition, right: CreationPosition): number {
  return left.createdAt - right.createdAt || byId(left, right);
}

/** Only for tasks that want to be woken. */
function earliestFirst(left: MemoryTask, right: MemoryTask): number {
  return left.wakeAt! - right.wakeAt! || byId(left, right);
}

function byId(left: { readonly taskId: string }, right: { readonly taskId: string }): number {
  if (left.taskId === right.taskId) return 0;
  return left.taskId < right.taskId ? -1 : 1;
}
