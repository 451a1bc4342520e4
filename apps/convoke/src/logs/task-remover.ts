import type { TaskState } from "@convoke/protocol";

/** A task that can be deleted. */
export interface DeletableTask {
  readonly id: string;
  readonly state: string;
  /** When it entered that state. */
  readonly statusAt: string;
  /** Empty if it is the user's own. */
  readonly owner: string;
  readonly isUnfinished: boolean;
}

/** Which tasks are meant. What is `undefined` does not matter. */
export interface TaskFilter {
  readonly contextId: string | undefined;
  /** `*` for all owners. */
  readonly owner: string | undefined;
  /** Only tasks whose last status is older, in milliseconds since the epoch. */
  readonly before: number | undefined;
  readonly state: TaskState | undefined;
}

/** Where tasks are deleted: at a server, or in a data folder or database. */
export interface TaskRemover {
  /** The task that the user means: by its id, or the beginning of it. */
  find(given: string): Promise<DeletableTask>;
  select(filter: TaskFilter): AsyncIterable<DeletableTask>;
  /** Deletes all of these tasks, or rejects and deletes none. Resolves to the ids of the deleted ones. */
  remove(ids: readonly string[], cancel: boolean): Promise<readonly string[]>;
  close(): Promise<void>;
}
