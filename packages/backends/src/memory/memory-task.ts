import type { TaskState } from "@convoke/protocol";
import type { Snapshot, Step, TaskRecord } from "@convoke/server/backend";
import { Misuse } from "../judge.ts";

/** A task and its log, changed in place: an append costs the same however long the log is. */
export interface MemoryTask {
  readonly taskId: string;
  readonly owner: string;
  readonly contextId: string;
  readonly agent: string;
  readonly createdAt: number;
  readonly events: string[];
  epoch: number;
  state: TaskState;
  statusAt: number;
  listed: boolean;
  snapshot: Snapshot | undefined;
  /** `null` when it does not want to be woken. */
  wakeAt: number | null;
}

export function createTask({ taskId, create, epoch, state, statusAt, listed }: Step): MemoryTask {
  if (create === undefined) throw new Misuse(`task ${taskId} was never created`);
  const { owner, contextId, agent, createdAt } = create;
  return {
    taskId,
    owner,
    contextId,
    agent,
    createdAt,
    events: [],
    epoch,
    state,
    statusAt,
    listed,
    snapshot: undefined,
    wakeAt: null,
  };
}

/** A copy, so that what a caller holds does not change under it. */
export function toRecord({ events, snapshot, wakeAt, ...task }: MemoryTask): TaskRecord {
  return {
    ...task,
    head: events.length,
    ...(snapshot && { snapshot }),
    ...(wakeAt !== null && { wakeAt }),
  };
}
