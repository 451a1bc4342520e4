import type { TaskState } from "@convoke/protocol";
import type { Seq, StoredTask, TaskRecord } from "@convoke/engine";

/** A record as SQLite gives it: an array, which is cheaper to make than an object. */
export type TaskRow = readonly [
  taskId: string,
  owner: string,
  contextId: string,
  agent: string,
  epoch: number,
  head: Seq,
  state: TaskState,
  statusAt: number,
  createdAt: number,
  listed: number,
  wakeAt: number | null,
  compacted: number,
];

/** A record with its snapshot. */
export type StoredTaskRow = readonly [
  ...record: TaskRow,
  snapshotSeq: Seq | null,
  snapshot: string | null,
];

export function toRecords(rows: readonly unknown[]): readonly TaskRecord[] {
  return (rows as readonly TaskRow[]).map(toRecord);
}

export function toStoredTask(row: StoredTaskRow): StoredTask {
  const [seq, json] = row.slice(-2) as [Seq | null, string | null];
  const record = toRecord(row.slice(0, -2) as unknown as TaskRow);
  return { ...record, snapshot: seq === null || json === null ? undefined : { seq, json } };
}

function toRecord(row: TaskRow): TaskRecord {
  const [
    taskId,
    owner,
    contextId,
    agent,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed,
    wakeAt,
    compacted,
  ] = row;
  return {
    taskId,
    owner,
    contextId,
    agent,
    epoch,
    head,
    state,
    statusAt,
    createdAt,
    listed: listed === 1,
    compacted: compacted === 1,
    ...(wakeAt !== null && { wakeAt }),
  };
}
