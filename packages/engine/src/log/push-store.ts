import type { Seq } from "./backend.ts";

/**
 * Where updates of a task are pushed to, and how far that got: a cursor over
 * the task's log (G12). A task may have several, told apart by their ids.
 */
export interface PushRecord {
  readonly taskId: string;
  readonly id: string;
  /** The owner of the task. */
  readonly owner: string;
  /** The config as JSON of the model; the store does not look into it. */
  readonly config: string;
  /** Raised each time the config is put again: what is still under way for the earlier one changes nothing. */
  readonly generation: number;
  /** Everything up to here was delivered, or happened before the config. */
  readonly cursor: Seq;
  readonly state: PushState;
  /** Since when nothing could be delivered, in milliseconds. */
  readonly failingSince?: number;
  /** Why the last delivery failed. */
  readonly problem?: string;
}

/**
 * `active`: there may be something to deliver, now or later. `done`: the task
 * has ended and all of it was delivered. `dead`: given up, until it is replayed.
 */
export type PushState = "active" | "done" | "dead";

export interface NewPush {
  readonly id: string;
  readonly config: string;
  /** What follows this place of the log is pushed. */
  readonly cursor: Seq;
}

/** How a config stands from here on. */
export interface PushProgress {
  readonly taskId: string;
  readonly id: string;
  readonly generation: number;
  readonly cursor: Seq;
  readonly state: PushState;
  /** `null` when the last delivery succeeded. */
  readonly failure: { readonly since: number; readonly problem: string } | null;
}

/** A place in a list of configs, ordered by task id and then by id. */
export interface PushPosition {
  readonly taskId: string;
  readonly id: string;
}

export interface PushQuery {
  readonly state: PushState;
  /** Only those of this owner. */
  readonly owner?: string;
  readonly after?: PushPosition;
  readonly limit: number;
}

/** The push configs of all tasks. They go with their task. */
export interface PushStore {
  /** Adds a config, `active` and with generation 1, or replaces the one of that id and raises its generation. Nothing comes back when there is no such task. */
  put(taskId: string, push: NewPush): Promise<PushRecord | undefined>;
  get(taskId: string, id: string): Promise<PushRecord | undefined>;
  /** The configs of one task, ordered by id. */
  ofTask(taskId: string): Promise<readonly PushRecord[]>;
  /** Configs of all tasks, ordered by task id and then by id. */
  list(query: PushQuery): Promise<readonly PushRecord[]>;
  /** Notes durably how a config stands. False, and nothing is noted, when it was deleted or put again meanwhile. */
  progress(progress: PushProgress): Promise<boolean>;
  /** Whether there was one to delete. */
  delete(taskId: string, id: string): Promise<boolean>;
}
