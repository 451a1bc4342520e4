import type { TaskState } from "@convoke/protocol";
import type { Seq, Snapshot, Step, Stored, StoredTask, TaskRecord } from "../log/backend.ts";
import { Misuse } from "../log/judge.ts";

/** A task and its log, changed in place: an append costs the same however long the log is. */
export interface MemoryTask {
  readonly taskId: string;
  readonly owner: string;
  readonly contextId: string;
  readonly agent: string;
  readonly createdAt: number;
  /** What is left of the log: all of it, or the last event once it was compacted. */
  events: string[];
  /** How many events came before those and are gone. */
  dropped: number;
  compacted: boolean;
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
    dropped: 0,
    compacted: false,
    epoch,
    state,
    statusAt,
    listed,
    snapshot: undefined,
    wakeAt: null,
  };
}

/** The sequence of the last event. */
export function headOf({ dropped, events }: MemoryTask): Seq {
  return dropped + events.length;
}

export function readLog(
  { dropped, events }: MemoryTask,
  after: Seq,
  limit: number,
): readonly Stored[] {
  const first = Math.max(0, after - dropped);
  return events
    .slice(first, first + limit)
    .map((json, index) => ({ seq: dropped + first + index + 1, json }));
}

/** Leaves only the last event, at its place. */
export function compactLog(task: MemoryTask, snapshot: Snapshot): void {
  task.dropped += Math.max(0, task.events.length - 1);
  task.events = task.events.slice(-1);
  task.snapshot = snapshot;
  task.compacted = true;
}

/** A copy, so that what a caller holds does not change under it. */
export function toRecord(task: MemoryTask): TaskRecord {
  const { events, dropped, snapshot: _, wakeAt, ...rest } = task;
  return { ...rest, head: dropped + events.length, ...(wakeAt !== null && { wakeAt }) };
}

/** The same with its snapshot. */
export function toStoredTask(task: MemoryTask): StoredTask {
  return { ...toRecord(task), snapshot: task.snapshot };
}
